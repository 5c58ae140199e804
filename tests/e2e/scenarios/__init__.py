# SPDX-License-Identifier: Apache-2.0
"""One module per scenario: NAME, and run(cluster), which raises Failed and returns a line of figures or None."""
