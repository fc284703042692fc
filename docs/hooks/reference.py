"""Pages of the reference that are written from the code when the documentation is built."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.report import pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in pages.generated(get_command(app)).items():
        files.append(File.generated(config, path, content=text))
    return files
