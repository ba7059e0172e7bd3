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
    /// The inverse document frequency of each feature.
    idf: HashMap<Feature, f64>,
    /// The same of a feature that no example has.
    idf_unseen: f64,
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    /// The weights of the features of its examples.
    weights: HashMap<Feature, f64>,
    /// The smoothed weight of all features.
    total: f64,
}

impl NaiveBayes {
    /// Learns from the features of examples, by class.
    pub(super) fn train(classes: &[Vec<BTreeSet<Feature>>]) -> Self {
        let examples: Vec<_> = classes.iter().flatten().collect();
        let mut frequencies: HashMap<Feature, usize> = HashMap::new();
        for feature in examples.iter().copied().flatten() {
            *frequencies.entry(*feature).or_default() += 1;
        }
        let idf = |frequency| inverse_document_frequency(examples.len(), frequency);
        let idf_of = |(feature, frequency)| (feature, idf(frequency));
        let mut classifier = Self {
            idf: frequencies.into_iter().map(idf_of).collect(),
            idf_unseen: idf(0),
            classes: Vec::new(),
        };
        for examples in classes {
            let (mut weights, mut total) = (HashMap::new(), 0.0);
            for (feature, weight) in examples.iter().flat_map(|one| classifier.tf_idf(one)) {
                *weights.entry(feature).or_default() += weight;
                total += weight;
            }
            total += SMOOTHING * float(classifier.idf.len());
            classifier.classes.push(Class { weights, total });
        }
        classifier
    }

    /// The features with their weights, whose squares make up 1: a long text counts as much as a short one.
    fn tf_idf(&self, features: &BTreeSet<Feature>) -> Vec<(Feature, f64)> {
        let idf = |feature: &Feature| *self.idf.get(feature).unwrap_or(&self.idf_unseen);
        let length: f64 = features.iter().map(|feature| idf(feature).powi(2)).sum();
        let weight = |feature: &Feature| (*feature, idf(feature) / length.sqrt());
        features.iter().map(weight).collect()
    }

    /// The log-likelihood of `features` in each class. A feature that no example has adds nothing.
    pub(super) fn log_likelihoods(&self, features: &BTreeSet<Feature>) -> Vec<f64> {
        let mut weighted = self.tf_idf(features);
        weighted.retain(|(feature, _)| self.idf.contains_key(feature));
        let log_likelihood = |class: &Class| {
            let of_feature = |(feature, weight): &(Feature, f64)| {
                let in_class = class.weights.get(feature).unwrap_or(&0.0);
                weight * ((SMOOTHING + in_class) / class.total).ln()
            };
            weighted.iter().map(of_feature).sum()
        };
        self.classes.iter().map(log_likelihood).collect()
    }

    /// True if one of the first `classes` has the feature.
    pub(super) fn knows(&self, feature: Feature, classes: usize) -> bool {
        let mut first = self.classes.iter().take(classes);
        first.any(|class| class.weights.contains_key(&feature))
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
    use crate::adapters::model::search::features::feature;

    fn features(text: &str) -> BTreeSet<Feature> {
        text.split(' ')
            .map(|stem| feature(("stem", stem)))
            .collect()
    }

    #[test]
    fn the_class_whose_examples_have_the_rare_features_is_likeliest() {
        let classifier = NaiveBayes::train(&[
            vec![features("the cat sleeps"), features("the cat purrs")],
            vec![features("the dog barks")],
            vec![features("the bird sings")],
        ]);
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
        let knows = |stem, classes| classifier.knows(feature(("stem", stem)), classes);
        assert!(knows("the", 1) && knows("bird", 3));
        assert!(!knows("bird", 2) && !knows("fish", 3));
    }
}
