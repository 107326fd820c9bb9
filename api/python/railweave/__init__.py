"""A client of Railweave's REST API. Needs nothing but Python 3.10; README.md shows how it is used."""
from railweave.client import Answer, Problem, Railweave, Unreachable
from railweave.operations import VERSION as __version__
from railweave.steps import StepReporter

__all__ = ["Answer", "Problem", "Railweave", "StepReporter", "Unreachable", "__version__"]
