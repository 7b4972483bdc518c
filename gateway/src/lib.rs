//! Pitlane's gateway: clients come in over TCP with SBE frames.
