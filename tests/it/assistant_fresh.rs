//! What visitors ask that nobody tuned the embedded model on. These questions were written before it was
//! tuned, and are NOT to be tuned on: neither the pages' hints nor the data of the assistant may follow
//! from which of them fail. For that there are the questions of `assistant_visitors` and
//! `assistant_pages`. A list that has been looked at is spent: write another.

use landing_api::domain::language::Language;

use crate::assistant_visitors::{Score, score};

const ENGLISH: &str = "
site: What's this website all about?
site: so what exactly do you guys do
sign-up: I'd love to receive your newsletter, what do I have to do?
after: I signed up yesterday but no email came to confirm
often: will you flood my inbox every day?
often: when does the next issue come out
leave: I don't want your emails any more
delete: Remove all my personal information please
delete: I want you to forget everything about me
stored: do you pass my email on to other companies?
stored: which details of mine do you keep
cookies: do you use google analytics
cookies: why don't you show a cookie banner
cost: is there a subscription fee
chat: am I talking to a real person?
quota: how many more questions can I ask you today
contact: how can I get in touch with someone human
safe: can I trust you with my email
wrong: I made a typo in my address, how do I fix it
later: it says too many attempts, what now
developers: can I build this into my own website?
read: are my chats private
-: What time is it in New York?
-: Can you recommend a good book?
-: how do I bake bread
-: Who will win the election?
-: What's the price of gold today
-: help me write a cover letter
-: is it safe to eat raw eggs
-: how often should I water my plants
";

const GERMAN: &str = "
site: Worum geht es auf dieser Seite eigentlich?
site: Was macht ihr hier so
sign-up: Ich möchte gern euren Newsletter bekommen
sign-up: Wo kann ich mich eintragen?
after: Ich habe mich angemeldet, aber es kam keine Mail
after: muss ich noch irgendwas bestätigen?
often: Wie häufig schickt ihr etwas?
leave: Bitte keine Mails mehr an mich
leave: wie kann ich das Abo kündigen
delete: Löschen Sie bitte alles, was Sie über mich haben
delete|leave: ich will dass meine adresse entfernt wird
stored: Gebt ihr meine E-Mail an andere Firmen weiter?
stored: Was wisst ihr über mich?
cookies: Werde ich hier getrackt?
cost: Muss ich dafür etwas bezahlen?
cost: brauche ich ein passwort
chat: Bist du ein Roboter?
quota: Wie viele Nachrichten habe ich noch?
contact: Wie kann ich Sie telefonisch erreichen?
safe: Kann ich euch vertrauen?
wrong: Habe mich bei der Mailadresse verschrieben
later: Warum kommt die Meldung, dass ich warten soll?
-: Wie wird das Wetter am Wochenende?
-: Wer ist Bundeskanzler?
-: Rezept für Kartoffelsalat
-: Wie viel kostet ein Flug nach Mallorca?
-: Schreib mir ein Gedicht über den Herbst
-: Wann fährt der nächste Zug nach Hamburg
-: Was ist die Hauptstadt von Australien?
-: Ist Kaffee gesund?
";

const FRENCH: &str = "
site: De quoi parle votre site ?
site: vous faites quoi exactement
sign-up: Je voudrais recevoir votre newsletter
sign-up: où est-ce que je peux m'inscrire
after: Je me suis inscrit mais je n'ai reçu aucun message
after: faut-il confirmer quelque chose ?
often: Vous envoyez combien de mails par semaine ?
leave: Je ne veux plus recevoir vos e-mails
leave: comment annuler mon abonnement
delete: Effacez toutes les informations que vous avez sur moi
delete|leave: je veux que mon adresse soit supprimée
stored: Est-ce que vous vendez mes données ?
stored: que savez-vous de moi
cookies: Est-ce que vous me pistez ?
cost: Est-ce que c'est gratuit ?
cost: dois-je créer un compte
chat: Es-tu un vrai humain ?
quota: Combien de messages me reste-t-il ?
contact: Avez-vous un numéro de téléphone ?
safe: Puis-je vous faire confiance ?
wrong: Je me suis trompé en tapant mon adresse
later: Pourquoi me dit-on d'attendre ?
-: Quel temps fera-t-il demain à Lyon ?
-: Qui a écrit Les Misérables ?
-: Donne-moi une recette de crêpes
-: Combien coûte un iPhone ?
-: Raconte-moi une blague
-: Quelle est la capitale du Canada ?
-: À quelle heure part le train pour Marseille
-: Comment apprendre la guitare ?
";

const SPANISH: &str = "
site: ¿De qué trata esta página?
site: a qué os dedicáis
sign-up: Me gustaría recibir el boletín
sign-up: dónde me puedo apuntar
after: Me apunté ayer y no me ha llegado nada
after: ¿tengo que confirmar algo?
often: ¿Cuántos correos mandan a la semana?
leave: No quiero recibir más correos
leave: cómo cancelo la suscripción
delete: Eliminen todo lo que tengan sobre mí
delete|leave: quiero que quiten mi dirección de su base de datos
stored: ¿Comparten mi correo con otras empresas?
stored: ¿qué saben de mí?
cookies: ¿Me están rastreando?
cost: ¿Hay que pagar algo?
cost: necesito registrarme con contraseña
chat: ¿Eres una persona de verdad?
quota: ¿Cuántos mensajes me quedan?
contact: ¿Tienen un teléfono al que llamar?
safe: ¿Es de fiar este sitio?
wrong: Escribí mal mi correo
later: ¿Por qué me dice que espere?
-: ¿Qué tiempo hará mañana en Sevilla?
-: ¿Quién ganó la liga?
-: Receta de tortilla de patatas
-: ¿Cuánto cuesta un billete a París?
-: Escribe un poema sobre el mar
-: ¿Cuál es la capital de Perú?
-: ¿A qué hora abre el supermercado?
-: Cómo se aprende a nadar
";

/// How many of the questions it answered right when they were first asked: never fewer, and nothing that
/// is off the subject.
#[tokio::test]
async fn fresh_questions_are_answered_as_well_as_when_they_were_first_asked() {
    for (language, questions, right_min) in [
        (Language::English, ENGLISH, 24),
        (Language::German, GERMAN, 25),
        (Language::French, FRENCH, 25),
        (Language::Spanish, SPANISH, 21),
    ] {
        let Score {
            right,
            asked,
            answered_off_topic,
            ..
        } = score(language, questions).await;
        assert_eq!(asked, 30, "{language:?}");
        assert!(right >= right_min, "{language:?}: {right} of {asked}");
        assert_eq!(answered_off_topic, 0, "{language:?}");
    }
}
