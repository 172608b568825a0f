(** Policies that treat the right actions alike and the wrong ones alike: their entropy is a function of
    the probability of a right action. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups ViableTokens.
Open Scope R_scope.

(** Equal values at two actions of a kind. *)
Definition alike (n : nat) (A : mask) (z : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> A a = A b -> z a = z b.

Lemma alike_softmax n A z : alike n A z -> alike n A (softmax n z).
Proof. intros same a b a_inside b_inside kind; unfold softmax; rewrite (same a b); trivial. Qed.

(** * Groups of equal probabilities *)

Lemma total_on_equal n A p c :
  (forall a, (a < n)%nat -> A a = true -> p a = c) -> total_on n A p = count_on n A * c.
Proof.
  intros equal; unfold count_on, total_on; rewrite <- sum_scal_r; apply sum_ext; intros a inside.
  unfold only; destruct (A a) eqn:kind; [rewrite equal by assumption; ring|ring].
Qed.

Lemma equal_group n p A :
  nonempty n A -> (forall a, (a < n)%nat -> 0 < p a) ->
  (forall a b, (a < n)%nat -> (b < n)%nat -> A a = true -> A b = true -> p a = p b) ->
  group_part n p A = total_on n A p * (ln (count_on n A) - ln (total_on n A p)).
Proof.
  intros some positive same.
  pose proof (count_viable_ge_1 n A some) as count.
  destruct some as (k & inside & chosen).
  assert (total_on n A p = count_on n A * p k) as total
    by (apply total_on_equal; intros; apply same; assumption).
  specialize (positive k inside).
  unfold group_part; rewrite (total_on_equal n A _ (p k * ln (p k))).
  - rewrite total, ln_mult by lra; ring.
  - intros a a_inside a_chosen; rewrite (same a k) by assumption; reflexivity.
Qed.

Lemma count_max n A : nonempty n A -> Rmax (count_on n A) 1 = count_on n A.
Proof. intros some; apply Rmax_left, count_viable_ge_1, some. Qed.

(** H = h(R) + R log m + (1 - R) log(n - m) *)
Lemma entropy_alike n z A :
  nonempty n A -> nonempty n (complement A) -> alike n A z ->
  let right := total_on n A (softmax n z) in
  let wrong := total_on n (complement A) (softmax n z) in
  entropy n z = - right * ln right - wrong * ln wrong
                + (right * ln (count_on n A) + wrong * ln (count_on n (complement A))).
Proof.
  intros some others same right wrong.
  assert (0 < n)%nat as n_positive by (destruct some as (a & inside & _); lia).
  pose proof (alike_softmax n A z same) as same_probabilities.
  assert (forall a, (a < n)%nat -> 0 < softmax n z a) as positive
    by (intros; apply softmax_pos, n_positive).
  rewrite (entropy_of_groups n z A), !equal_group; try assumption.
  - fold right wrong; ring.
  - unfold complement; intros a b a_inside b_inside a_wrong b_wrong; apply same_probabilities;
      try assumption.
    destruct (A a), (A b); simpl in *; congruence.
  - intros a b a_inside b_inside a_right b_right; apply same_probabilities; congruence.
Qed.

(** * Adding the same to all right logits *)

Lemma mass_exponentials n A z :
  total_on n A (softmax n z) = total_on n A (fun a => exp (z a)) / sum n (fun a => exp (z a)).
Proof.
  unfold total_on, softmax; rewrite <- sum_div; apply sum_ext; intros a _; unfold only.
  destruct (A a); unfold Rdiv; ring.
Qed.

(** It multiplies the odds. *)
Lemma odds_shifted n (A : mask) (z : vector) t :
  (0 < n)%nat ->
  let moved := fun a : nat => z a + (if A a then t else 0) in
  total_on n A (softmax n moved) * total_on n (complement A) (softmax n z)
  = exp t * total_on n A (softmax n z) * total_on n (complement A) (softmax n moved).
Proof.
  intros some moved; rewrite !mass_exponentials.
  replace (total_on n A (fun a => exp (moved a))) with (exp t * total_on n A (fun a => exp (z a))).
  - replace (total_on n (complement A) (fun a => exp (moved a)))
      with (total_on n (complement A) (fun a => exp (z a))).
    + pose proof (normalizer_pos n z some); pose proof (normalizer_pos n moved some).
      field; split; lra.
    + unfold total_on; apply sum_ext; intros a _; unfold only, complement, moved.
      destruct (A a); simpl; [reflexivity|rewrite Rplus_0_r; reflexivity].
  - unfold total_on; rewrite <- sum_scal; apply sum_ext; intros a _; unfold only, moved.
    destruct (A a); [rewrite exp_plus; ring|ring].
Qed.
