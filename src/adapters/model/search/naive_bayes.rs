//! A multinomial naive Bayes classifier over tf-idf weights (Rennie et al., "Tackling the Poor Assumptions of
//! Naive Bayes Text Classifiers", 2003, sections 4.2 and 4.3). All classes have the same prior.

use std::collections::{BTreeSet, HashMap};

use crate::adapters::model::search::features::Feature;

/// Added to the weight of every feature in every class, so that no feature rules a class out
/// (Lidstone smoothing).
const SMOOTHING: f64 = 0.02;

/// A trained classifier.
#[derive(Debug)]
pub(super) struct NaiveBayes {
    features: HashMap<Feature, FeatureWeights>,
    /// The inverse document frequency of a feature that no example has.
    idf_unseen: f64,
    /// The smoothed weight of all features, by class.
    totals: Vec<f64>,
}

#[derive(Debug)]
struct FeatureWeights {
    /// The inverse document frequency.
    idf: f64,
    /// The classes whose examples have the feature, in their order, each with its weight there.
    by_class: Vec<(usize, f64)>,
}

impl NaiveBayes {
    /// Learns from `examples`, each a class, which is less than `classes`, and its features. They are in the order of
    /// the classes.
    pub(super) fn train(classes: usize, examples: &[(usize, BTreeSet<Feature>)]) -> Self {
        let mut document_frequencies: HashMap<Feature, usize> = HashMap::new();
        for feature in examples.iter().flat_map(|(_, features)| features) {
            *document_frequencies.entry(*feature).or_default() += 1;
        }
        let idf = |frequency| inverse_document_frequency(examples.len(), frequency);
        let weights = |(feature, frequency)| {
            let (idf, by_class) = (idf(frequency), Vec::with_capacity(1));
            (feature, FeatureWeights { idf, by_class })
        };
        let mut classifier = Self {
            idf_unseen: idf(0),
            totals: vec![SMOOTHING * float(document_frequencies.len()); classes],
            features: document_frequencies.into_iter().map(weights).collect(),
        };
        for (class, features) in examples {
            for (feature, weight) in classifier.tf_idf(features) {
                if let Some(total) = classifier.totals.get_mut(*class) {
                    *total += weight;
                }
                let Some(FeatureWeights { by_class, .. }) = classifier.features.get_mut(&feature)
                else {
                    continue;
                };
                match by_class.last_mut() {
                    Some((last, sum)) if last == class => *sum += weight,
                    Some(_) | None => by_class.push((*class, weight)),
                }
            }
        }
        classifier
    }

    /// The features with their weights, whose squares make up 1: a long text counts as much as a short one.
    fn tf_idf(&self, features: &BTreeSet<Feature>) -> Vec<(Feature, f64)> {
        let idf = |feature: &Feature| {
            let weights = self.features.get(feature);
            weights.map_or(self.idf_unseen, |weights| weights.idf)
        };
        let length: f64 = features.iter().map(|feature| idf(feature).powi(2)).sum();
        let weight = |feature: &Feature| (*feature, idf(feature) / length.sqrt());
        features.iter().map(weight).collect()
    }

    /// The log-likelihood of `features` in each class. A feature that no example has adds nothing.
    pub(super) fn log_likelihoods(&self, features: &BTreeSet<Feature>) -> Vec<f64> {
        let weighted = self.tf_idf(features).into_iter();
        let known =
            weighted.filter_map(|(feature, weight)| Some((self.features.get(&feature)?, weight)));
        let known: Vec<_> = known.collect();
        // As if no class had any of them.
        let all: f64 = known.iter().map(|(_, weight)| weight).sum();
        let totals = self.totals.iter();
        let mut log_likelihoods: Vec<_> =
            totals.map(|total| all * (SMOOTHING / total).ln()).collect();
        for (feature, weight) in known {
            for (class, in_class) in &feature.by_class {
                if let Some(log_likelihood) = log_likelihoods.get_mut(*class) {
                    *log_likelihood += weight * (in_class / SMOOTHING).ln_1p();
                }
            }
        }
        log_likelihoods
    }

    /// The classes whose examples have the feature.
    pub(super) fn classes_with(&self, feature: Feature) -> impl Iterator<Item = usize> {
        let weights = self.features.get(&feature).into_iter();
        weights.flat_map(|weights| weights.by_class.iter().map(|(class, _)| *class))
    }
}

/// The smoothed inverse document frequency of a feature that `frequency` of `documents` have.
pub(super) fn inverse_document_frequency(documents: usize, frequency: usize) -> f64 {
    (float(1 + documents) / float(1 + frequency)).ln() + 1.0
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
        let classifier = NaiveBayes::train(3, &examples);
        for (text, expected) in [
            ("the cat", 0),
            ("does the dog sleep", 1),
            ("bird", 2),
            ("barks the cat barks dog", 1),
        ] {
            let log_likelihoods = classifier.log_likelihoods(&features(text));
            let classes = 0..log_likelihoods.len();
            let best = classes.max_by(|a, b| log_likelihoods[*a].total_cmp(&log_likelihoods[*b]));
            assert_eq!(best, Some(expected), "{text}: {log_likelihoods:?}");
        }
        for nothing in [features("fish"), BTreeSet::new()] {
            assert_eq!(classifier.log_likelihoods(&nothing), [0.0; 3]);
        }
        let the = classifier.classes_with(Feature::of_stem("the"));
        assert!(the.eq(0..3));
        let fish = classifier.classes_with(Feature::of_stem("fish"));
        assert_eq!(fish.count(), 0);
    }
}
