(** Extension of the Entropy Mechanism, "algorithm-irrelevant": from logits that are equal among the right
    and among the wrong actions, steps that treat actions of a kind alike stay on the one curve
    H = h(R) + R log m + (1 - R) log(n - m). *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups SymmetricPolicies.
From Trusted.Statements.extension Require symmetric_curve.
Open Scope R_scope.

(** Any algorithm that keeps policies alike, for ever. *)
Theorem every_alike_run_stays_on_the_curve :
  forall (n : nat) (correct : mask) (update : nat -> vector -> vector) (run : nat -> vector),
  nonempty n correct -> nonempty n (complement correct) ->
  (forall k z, alike n correct z -> alike n correct (update k z)) ->
  alike n correct (run O) ->
  (forall k a, (a < n)%nat -> run (S k) a = run k a + update k (run k) a) ->
  forall k,
  let right := total_on n correct (softmax n (run k)) in
  let wrong := total_on n (complement correct) (softmax n (run k)) in
  entropy n (run k) = - right * ln right - wrong * ln wrong
                      + (right * ln (count_on n correct) + wrong * ln (count_on n (complement correct))).
Proof.
  intros n correct update run some wrong keeps start step k.
  apply entropy_alike; [exact some|exact wrong|].
  induction k as [|k IH]; [exact start|].
  intros a b a_inside b_inside kind; rewrite !step by assumption.
  rewrite (IH a b), (keeps k (run k) IH a b) by assumption; reflexivity.
Qed.

Lemma alike_off_the_curve n (correct : mask) z :
  nonempty n correct -> nonempty n (complement correct) -> alike n correct z ->
  Statements.extension.symmetric_curve.off_the_curve n z correct = 0.
Proof.
  intros some wrong same.
  unfold Statements.extension.symmetric_curve.off_the_curve,
    Statements.extension.symmetric_curve.binary, Statements.extension.symmetric_curve.widest,
    Statements.extension.symmetric_curve.performance, Statements.extension.symmetric_curve.failure.
  change (fun a => negb (correct a)) with (complement correct).
  fold (count_on n correct) (count_on n (complement correct)).
  rewrite count_max by exact wrong.
  rewrite (entropy_alike n z correct some wrong same); ring.
Qed.

Theorem proved : Statements.extension.symmetric_curve.statement.
Proof.
  unfold Statements.extension.symmetric_curve.statement.
  intros n logits correct learning_rate temperature bonus _ some _ _ _ not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  set (start := Statements.extension.symmetric_curve.two_logits n logits correct).
  assert (alike n correct start) as start_alike.
  { intros a b _ _ kind; unfold start, Statements.extension.symmetric_curve.two_logits.
    rewrite kind; reflexivity. }
  set (middle := fun a => start a + learning_rate
    * Statements.extension.symmetric_curve.mixed_step n start correct temperature bonus a).
  assert (alike n correct middle) as middle_alike.
  { intros a b a_inside b_inside kind.
    pose proof (start_alike a b a_inside b_inside kind) as same.
    pose proof (alike_softmax n correct start start_alike a b a_inside b_inside kind) as same_p.
    unfold middle, Statements.extension.symmetric_curve.mixed_step,
      Statements.extension.symmetric_curve.gradient_step,
      Statements.extension.symmetric_curve.unit_step, entropy_gradient, log_softmax.
    assert (softmax n (tempered temperature start) a = softmax n (tempered temperature start) b) as same_hot
      by (unfold softmax, tempered; rewrite same; reflexivity).
    rewrite same, same_p, same_hot, kind; reflexivity. }
  change (fun b => start b + learning_rate
    * Statements.extension.symmetric_curve.mixed_step n start correct temperature bonus b) with middle.
  set (last := fun a => start a + learning_rate
    * Statements.extension.symmetric_curve.mixed_step n start correct temperature bonus a
    + learning_rate * Statements.extension.symmetric_curve.natural_step n middle correct a).
  assert (alike n correct last) as last_alike.
  { intros a b a_inside b_inside kind; unfold last.
    fold (middle a) (middle b); rewrite (middle_alike a b) by assumption.
    unfold Statements.extension.symmetric_curve.natural_step; rewrite kind; reflexivity. }
  split; [apply alike_off_the_curve; assumption|].
  intros policy equal; apply alike_off_the_curve; [exact some|exact wrong|].
  intros a b a_inside b_inside kind.
  destruct (equal a a_inside b b_inside) as [differ|same]; [exfalso|exact same].
  apply differ; rewrite kind; destruct (correct b); [left|right]; split; congruence.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.symmetric_curve.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 2, 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.symmetric_curve.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 2, 1; limits_witnessed. Qed.

Theorem defined : Statements.extension.symmetric_curve.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require symmetric_curve.
From Trusted.Conditions.extension Require symmetric_curve.

Theorem every_alike_run_stays_on_the_curve_witness : Conditions.extension.symmetric_curve.every_alike_run_stays_on_the_curve_witness.
Proof.
  exists 2%nat, (fun a => Nat.eqb a 1), (fun _ _ _ => 0), (fun _ _ => 0).
  do 2 (split; [met|]); split; [intros; red; intros; reflexivity|].
  split; [red; intros; reflexivity|intros; ring].
Qed.

Theorem every_alike_run_stays_on_the_curve_defined : Conditions.extension.symmetric_curve.every_alike_run_stays_on_the_curve_defined.
Proof.
  intros n correct update run some others _ _ _ k right wrong; subst right wrong.
  assert (0 < n)%nat by (destruct some as (a & inside & _); lia).
  domains.
Qed.
