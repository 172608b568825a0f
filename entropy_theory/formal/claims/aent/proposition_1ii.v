(** AEnt, Proposition 1 (II): an almost stationary policy is almost optimal where a right response is not
    rare. V*(q) - V(q) <= |D| sqrt(h) ||grad V(D)||_2/C(q), C(q) the probability of the likeliest right
    response. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds Stationarity.
From Statements.aent Require Import proposition_1ii.
Open Scope R_scope.

Lemma value_gradient_formula n h prompts z reward q s a :
  value_gradient n h prompts z reward q s a = gradient_formula n h (z q) (reward q) s a.
Proof. unfold value_gradient, gradient_formula, advantage; ring. Qed.

Lemma square_of_gradient_eq n h prompts z reward :
  square_of_gradient n h prompts z reward = data_gradient_squares n h prompts z reward.
Proof.
  apply sum_ext; intros q _; apply sum_states_ext; intros s _; apply sum_ext; intros a _.
  rewrite value_gradient_formula; reflexivity.
Qed.

(** C gap is the probability of a right response times what it is ahead of V, or C is zero. *)
Lemma at_right_response n h prompts z reward q :
  (0 < n)%nat ->
  exists y, response_of n h y /\
    (largest_right_probability n h prompts z reward q * gap n h prompts z reward q
     = probability n (z q) y * (reward q y - mean_responses n h (z q) (reward q))
     \/ largest_right_probability n h prompts z reward q = 0).
Proof.
  intros some; unfold largest_right_probability.
  destruct (largest_responses_attained n h (fun y =>
    if is_right n h prompts reward q y then probability n (z q) y else 0)) as (y & response & ->); [exact some|].
  exists y; split; [exact response|].
  unfold is_right, equal; destruct (Req_EM_T (reward q y) (largest_responses n h (reward q))) as [best|_];
    [left|right; reflexivity].
  unfold gap; rewrite (mean_responses_minus n h (z q) (fun _ => largest_responses n h (reward q))).
  rewrite mean_responses_const, <- best by exact some; reflexivity.
Qed.

Theorem proved : Statements.aent.proposition_1ii.statement.
Proof.
  intros n h prompts logits reward several long some_prompts; assert (0 < n)%nat as some by lia.
  assert (1 <= INR n) as one by (apply (le_INR 1); lia).
  split.
  - intros q inside; rewrite square_of_gradient_eq.
    pose proof (data_gradient_squares_nonneg n h prompts logits reward) as nonneg.
    pose proof (pos_INR h) as horizon_nonneg; pose proof (pow2_ge_0 (INR prompts)) as square_nonneg.
    destruct (at_right_response n h prompts logits reward q some) as (y & response & [->|zero]).
    + pose proof (data_gap_le_gradient n h prompts logits reward some long q y inside response) as bound.
      unfold Rsqr in bound; replace (INR prompts ^ 2) with (INR prompts * INR prompts) by ring; lra.
    + rewrite zero, !Rmult_0_l; apply Rmult_le_pos; [apply Rmult_le_pos|]; assumption.
  - intros direction.
    rewrite (sum_ext prompts _ (fun q => sum_states n h (fun s => sum n (fun a =>
      gradient_formula n h (logits q) (reward q) s a / INR prompts * direction q s a)))).
    + apply mean_return_along; lia.
    + intros q _; apply sum_states_ext; intros s _; apply sum_ext; intros a _.
      rewrite value_gradient_formula; reflexivity.
Qed.
