(** Extension of AEPO, section 3.1 (GRPO's advantage): for groups of G >= 3, kappa lies between
    max(2 (1 - 1/G), sqrt(G - 1) ((1 - p)^{G-2} + p^{G-2})) and min(sqrt(G - 1), sqrt((1 - 1/G)/(p (1 - p)))). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks GroupGainBounds.
From Trusted.Statements.extension Require group_normalization_bounds.
Open Scope R_scope.

(** With the numbers of one group size. *)
Lemma bounds_at n logits correct G size root :
  (1 <= n)%nat -> (3 <= G)%nat -> INR G = size -> size - 1 = root ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  let gain := group_gain G 0 right wrong in
  2 - 2 / size <= gain
  /\ sqrt root * (wrong ^ (G - 2) + right ^ (G - 2)) <= gain
  /\ gain <= sqrt root
  /\ gain * gain * right * wrong <= 1 - 1 / size.
Proof. intros one_action three same before; rewrite <- before, <- same; apply bounds_of_gain; assumption. Qed.

(** How the statement writes a power of a positive number. *)
Lemma power_form x G : 0 < x -> (2 <= G)%nat -> exp ((INR G - 2) * ln x) = x ^ (G - 2).
Proof.
  intros positive two; rewrite <- Rpower_pow by assumption; unfold Rpower; do 2 f_equal.
  rewrite minus_INR by assumption; reflexivity.
Qed.

Theorem proved : Statements.extension.group_normalization_bounds.statement.
Proof.
  intros n logits correct two some not_all.
  assert (one_action : (1 <= n)%nat) by lia.
  destruct (bounds_at n logits correct 4 4 3 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 8 8 7 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 16 16 15 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  destruct (bounds_at n logits correct 64 64 63 one_action) as [? [? [? ?]]];
    [lia|rewrite INR_IZR_INZ; reflexivity|lra|].
  split; [repeat split; assumption|].
  intros G three.
  assert (at_least_three : (3 <= G)%nat) by (apply INR_le; simpl; lra).
  destruct (bounds_of_gain n logits correct G one_action at_least_three) as (constant & ends & root & deviation).
  assert (mass : forall A, nonempty n A -> 0 < total_on n A (softmax n logits)).
  { intros A nonempty_A; apply total_on_pos; [exact nonempty_A|intros; apply softmax_pos; lia]. }
  pose proof (mass correct some); pose proof (mass _ (some_wrong n correct not_all)).
  rewrite !power_form by (assumption || lia).
  exact (conj (conj (conj constant ends) root) deviation).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.group_normalization_bounds.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.group_normalization_bounds.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); do 3 (split; [witnessed|]); exists 3%nat; witnessed.
Qed.

Theorem defined : Statements.extension.group_normalization_bounds.defined.
Proof. domains. Qed.
