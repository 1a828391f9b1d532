"""``python -m scimesh_worker`` is ``scimesh-worker``."""

import sys

from scimesh_worker.cli import main

sys.exit(main())
