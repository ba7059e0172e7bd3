//! Pages, elements and links as sites and scanners use them.
