"""Text for people: sizes, times, shares, lists, and what no terminal may be shown. Imports nothing else of ours."""
