"""Show a dialogue: in the terminal with a colour a persona, or as a static HTML page that escapes everything."""

from mascot_data.show.find import find_dialogue
from mascot_data.show.render import render_html, render_text, show

__all__ = ["find_dialogue", "render_html", "render_text", "show"]
