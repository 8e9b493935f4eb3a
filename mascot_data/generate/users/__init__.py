"""The simulated person: profiles as data, the system message that is made of one, and its turns.

The sixteen types of Myers and Briggs are how the paper varies its simulated users. They are a device to get people who
talk differently, not a validated measure of personality, and say nothing about real people. The profiles stand in
``profiles/`` (one file each); a user's own folder is laid over them.
"""

from mascot_data.generate.users.library import load_profiles
from mascot_data.generate.users.person import person, user_message
from mascot_data.generate.users.profile import Profile

__all__ = ["Profile", "load_profiles", "person", "user_message"]
