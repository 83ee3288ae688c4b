"""Recording episodes: what only writes. What readers need too lies in ``svm_robot.data``, below.

``recorder`` listens to the loop, ``session`` runs one episode after the other. While one runs, ``rows`` and ``timing``
keep numbers, ``encoder`` (video, with ``proof``) and ``stills`` keep pictures, each in a thread of ``worker``.
``writer`` owns the dataset, ``commit`` makes an episode count. What comes before: ``resume`` (does the dataset fit the
rig), ``torn`` and ``recovery`` (what a killed recording left), ``disk`` (is there room).
"""
