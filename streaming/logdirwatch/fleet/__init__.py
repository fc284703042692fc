"""What no single broker shows: the judgement of whole clusters."""
