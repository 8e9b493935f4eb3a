"""``python -m mascot_data`` is ``mascot-data``."""

from mascot_data.cli import main

if __name__ == "__main__":
    main()
