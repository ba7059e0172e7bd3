//! Derives that the standard library lacks.

/// An enum with a name for each value, and all values in `ALL`: each is written once.
///
/// ```text
/// names! {
///     /// A fruit.
///     pub enum Fruit {
///         /// Malus domestica.
///         Apple => "apple",
///     }
/// }
/// ```
macro_rules! names {
    (
        $(#[$of_set:meta])*
        $visible:vis enum $set:ident { $($(#[$of_value:meta])* $value:ident => $name:literal,)+ }
    ) => {
        $(#[$of_set])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visible enum $set { $($(#[$of_value])* $value,)+ }

        #[allow(dead_code, reason = "not every set needs all of it")]
        impl $set {
            /// All values, in the order of the table.
            $visible const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            $visible const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $name,)+ }
            }

            $visible fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }
    };
}

/// `Debug` for types that hold secrets or personal data: prints the type's name alone.
macro_rules! hidden {
    ($($of:ty),+) => {
        $(impl std::fmt::Debug for $of {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($of), "(..)"))
            }
        })+
    };
}

/// `from_bytes` and `as_bytes` for newtypes over bytes of any value.
macro_rules! bytes {
    ($($of:ty: $len:literal),+) => {
        $(impl $of {
            pub const fn from_bytes(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }
        })+
    };
}

/// `parse` and `Display`: a prefix and lowercase hexadecimal digits. `parse` returns `None` for anything else.
macro_rules! hex {
    ($($of:ty: $prefix:literal),+) => {
        $(impl $of {
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix($prefix)?;
                let bytes = data_encoding::HEXLOWER.decode(digits.as_bytes()).ok()?;
                bytes.try_into().ok().map(Self)
            }
        }

        impl std::fmt::Display for $of {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($prefix)?;
                data_encoding::HEXLOWER.encode_display(&self.0).fmt(f)
            }
        })+
    };
}

pub(crate) use {bytes, hex, hidden, names};
