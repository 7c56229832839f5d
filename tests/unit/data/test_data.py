import subprocess
import sys
from pathlib import Path


def test_text_is_read_and_planned_without_torch() -> None:
    script = "import sys, regard.data.corpus_tokenization, regard.data.batch_order; sys.exit('torch' in sys.modules)"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False, timeout=300).returncode == 0
