//! Multinomial naive Bayes over tf-idf weights (Rennie et al., "Tackling the Poor Assumptions of Naive Bayes
//! Text Classifiers", 2003, sections 4.2 and 4.3): from examples of several classes it learns how much each
//! feature speaks for each class.

use std::collections::{BTreeSet, HashMap};

use super::features::Feature;

/// What is added to the weight of every feature in every class, so that no feature rules a class out
/// (Lidstone smoothing).
const SMOOTHING: f64 = 0.02;

/// An example: its class, and its features.
pub(super) type Example = (usize, BTreeSet<Feature>);

/// What was learned.
#[derive(Debug)]
pub(super) struct NaiveBayes {
    learned: HashMap<Feature, Learned>,
    /// The rarity of a feature that no example has.
    rarity_max: f64,
    /// The smoothed weight of all features, by class.
    totals: Vec<f64>,
}

/// What was learned of a feature.
#[derive(Debug)]
struct Learned {
    /// Its inverse document frequency: a feature of few examples tells more.
    rarity: f64,
    /// The classes whose examples have it, each with its weight there.
    weights: Vec<(usize, f64)>,
}

impl NaiveBayes {
    /// Learns from `examples`, whose classes are less than `classes`.
    pub(super) fn learn(classes: usize, examples: &[Example]) -> Self {
        let mut having: HashMap<Feature, usize> = HashMap::new();
        for feature in examples.iter().flat_map(|(_, features)| features) {
            *having.entry(*feature).or_default() += 1;
        }
        let rarity = |having| (float(1 + examples.len()) / float(1 + having)).ln() + 1.0;
        let learned = |(feature, having)| {
            let (rarity, weights) = (rarity(having), Vec::with_capacity(1));
            (feature, Learned { rarity, weights })
        };
        let mut bayes = Self {
            rarity_max: rarity(0),
            totals: vec![SMOOTHING * float(having.len()); classes],
            learned: having.into_iter().map(learned).collect(),
        };
        for (class, features) in examples {
            for (feature, weight) in bayes.weighted(features) {
                if let Some(learned) = bayes.learned.get_mut(&feature) {
                    learned.add(*class, weight);
                }
                if let Some(total) = bayes.totals.get_mut(*class) {
                    *total += weight;
                }
            }
        }
        bayes
    }

    /// The features with their weights, whose squares make up 1: a long text counts as much as a short one.
    fn weighted(&self, features: &BTreeSet<Feature>) -> Vec<(Feature, f64)> {
        let rarity = |feature| {
            let learned = self.learned.get(feature);
            learned.map_or(self.rarity_max, |it| it.rarity)
        };
        let weighted = features.iter().map(|feature| (*feature, rarity(feature)));
        let mut weighted: Vec<_> = weighted.collect();
        let length = weighted
            .iter()
            .map(|(_, rarity)| rarity * rarity)
            .sum::<f64>()
            .sqrt();
        for (_, weight) in &mut weighted {
            *weight /= length;
        }
        weighted
    }

    /// The logarithm of how likely a text of these `features` is in each class. Features that no example
    /// has count for none.
    pub(super) fn log_likelihoods(&self, features: &BTreeSet<Feature>) -> Vec<f64> {
        let mut likelihoods = vec![0.0; self.totals.len()];
        for (feature, weight) in self.weighted(features) {
            let Some(learned) = self.learned.get(&feature) else {
                continue;
            };
            for (class, (likelihood, total)) in likelihoods.iter_mut().zip(&self.totals).enumerate()
            {
                let in_class = learned.weight_in(class) + SMOOTHING;
                *likelihood += weight * (in_class / total).ln();
            }
        }
        likelihoods
    }

    /// The classes whose examples have the feature.
    pub(super) fn classes_with(&self, feature: Feature) -> impl Iterator<Item = usize> {
        let learned = self.learned.get(&feature).into_iter();
        learned.flat_map(|it| it.weights.iter().map(|(class, _)| *class))
    }
}

impl Learned {
    fn add(&mut self, class: usize, weight: f64) {
        match self.weights.iter_mut().find(|(it, _)| *it == class) {
            Some((_, sum)) => *sum += weight,
            None => self.weights.push((class, weight)),
        }
    }

    fn weight_in(&self, class: usize) -> f64 {
        let mut weights = self.weights.iter();
        weights
            .find(|(it, _)| *it == class)
            .map_or(0.0, |(_, weight)| *weight)
    }
}

/// A small number, for arithmetic with weights.
pub(super) fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> BTreeSet<Feature> {
        text.split(' ').map(Feature::of_stem).collect()
    }

    #[test]
    fn the_class_whose_examples_have_the_rare_features_is_likeliest() {
        let examples = [
            (0, features("the cat sleeps")),
            (0, features("the cat purrs")),
            (1, features("the dog barks")),
            (2, features("the bird sings")),
        ];
        let learned = NaiveBayes::learn(3, &examples);
        for (text, expected) in [
            ("the cat", 0),
            ("does the dog sleep", 1),
            ("bird", 2),
            ("barks the cat barks dog", 1),
        ] {
            let likelihoods = learned.log_likelihoods(&features(text));
            let classes = 0..likelihoods.len();
            let best = classes.max_by(|a, b| likelihoods[*a].total_cmp(&likelihoods[*b]));
            assert_eq!(best, Some(expected), "{text}: {likelihoods:?}");
        }
        assert_eq!(learned.log_likelihoods(&features("fish")), [0.0; 3]);
        assert!(learned.classes_with(Feature::of_stem("the")).eq(0..3));
        assert_eq!(learned.classes_with(Feature::of_stem("fish")).count(), 0);
    }
}
