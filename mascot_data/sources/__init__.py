"""One reader a corpus, from every layout people have on disk to one stream of raw conversations.

``files`` opens a file, a folder or an archive; ``esconv``, ``empathetic`` and ``qmsum`` read it; ``download`` fetches
the pinned releases; ``locate`` says where a corpus comes from; ``sample`` is a small corpus of our own in all formats.
"""
