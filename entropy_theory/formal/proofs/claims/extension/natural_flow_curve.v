(** Extension: along the natural policy gradient flow entropy is a function of the reward, and where it ends
    is decided by the first policy.

    With reward 1 for right responses and 0 for others, the probability p of being right is logistic in t;
    among right responses, and among wrong ones, probabilities stay in proportion. So
    H = h(p) + p H_right + (1 - p) H_wrong with the two entropies those of the first policy, and H tends to
    H_right, not to zero: within (3 + |H_wrong - H_right|) sqrt((1 - p_0)/p_0) e^{-t/2}. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeTilting TreeSets.
From PolicyEntropy.library Require Import TreeRates.
From Trusted.Statements.extension Require natural_flow_curve.
Module Stated := Statements.extension.natural_flow_curve.
Import ListNotations.
Open Scope R_scope.

Theorem flow_ends_within_right_responses :
  forall (n h : nat) (correct : state -> bool) (path : R -> policy) (shift : R -> state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) -> (exists y, response_of n h y /\ correct y = false) ->
  (forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat ->
     derivative (fun r => path r s a) t
       (advantage_at n h (path t) (edge_reward h (fun y => if correct y then 1 else 0)) s a + shift t s)) ->
  let p t := response_mass n h (path t) correct in
  let H_right := entropy_within n h (path 0) correct in
  let H_wrong := entropy_within n h (path 0) (fun y => negb (correct y)) in
  forall t, 0 <= t ->
  p t = p 0 * exp t / (p 0 * exp t + (1 - p 0)) /\
  response_entropy n h (path t) = binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong /\
  Rabs (response_entropy n h (path t) - H_right)
    <= (3 + Rabs (H_wrong - H_right)) * sqrt ((1 - p 0) / p 0) * exp (- t / 2).
Proof.
  intros n h correct path shift several long [y_r [r_response r_right]] [y_w [w_response w_wrong]] moves
    p H_right H_wrong t later.
  assert (0 < n)%nat as some by lia.
  assert (natural_flow n h (fun y => if correct y then 1 else 0) path) as flow
    by (exists shift; intros; apply is_derive_Reals, moves; assumption).
  assert (0 < p 0 < 1) as mixed.
  { unfold p; pose proof (response_mass_pos n some h (path 0) correct y_r r_response r_right).
    pose proof (response_mass_pos n some h (path 0) (outside correct) y_w w_response) as wrong_pos.
    rewrite response_mass_outside in wrong_pos by assumption.
    unfold outside in wrong_pos; rewrite w_wrong in wrong_pos; specialize (wrong_pos eq_refl); lra. }
  pose proof (flow_mass n some h correct path long flow mixed t later) as mass.
  pose proof (flow_mass_range n some h correct path long flow mixed t later) as range.
  fold (p 0) (p t) in mass; fold (p t) in range.
  assert (response_entropy n h (path t) = binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong)
    as curve.
  { rewrite (entropy_chain_rule n some h (path t) correct range).
    rewrite !(flow_entropy_within n some h correct path long flow mixed t) by auto; reflexivity. }
  repeat split; [exact mass|exact curve|].
  rewrite curve; pose proof (binary_entropy_near_1 (p t) range) as last.
  set (r := sqrt (1 - p t)) in *.
  assert (0 <= r) as r_nonneg by apply sqrt_pos.
  assert (r * r = 1 - p t) as square by (apply sqrt_sqrt; lra).
  assert (r <= 1) by nra.
  assert (r <= sqrt ((1 - p 0) / p 0) * exp (- t / 2)) as fast.
  { replace (exp (- t / 2)) with (sqrt (exp (- t))).
    - unfold r; rewrite <- sqrt_mult.
      + apply sqrt_le_1_alt; rewrite mass, exp_Ropp; pose proof (exp_pos t).
        assert (0 < p 0 * exp t) by (apply Rmult_lt_0_compat; lra).
        apply Rle_trans with ((1 - p 0) / (p 0 * exp t + (1 - p 0))); [right; field; lra|].
        replace ((1 - p 0) / p 0 * / exp t) with ((1 - p 0) / (p 0 * exp t)) by (field; lra).
        apply Rmult_le_compat_l; [lra|]; apply Rinv_le_contravar; lra.
      + apply Rlt_le, Rdiv_lt_0_compat; lra.
      + apply Rlt_le, exp_pos.
    - replace (- t) with (- t / 2 + - t / 2) by field; rewrite exp_plus.
      replace ((- t / 2 + - t / 2) / 2) with (- t / 2) by field.
      apply sqrt_square, Rlt_le, exp_pos. }
  pose proof (Rabs_pos (H_wrong - H_right)) as gap_nonneg.
  rewrite Rmult_assoc; apply Rle_trans with ((3 + Rabs (H_wrong - H_right)) * r);
    [|apply Rmult_le_compat_l; lra].
  replace (binary_entropy (p t) + p t * H_right + (1 - p t) * H_wrong - H_right)
    with (binary_entropy (p t) + r * r * (H_wrong - H_right)) by (rewrite square; ring).
  apply Rle_trans with (1 := Rabs_triang _ _).
  rewrite (Rabs_pos_eq (binary_entropy (p t))) by lra; rewrite Rabs_mult, (Rabs_pos_eq (r * r)) by nra.
  assert (r * r * Rabs (H_wrong - H_right) <= r * Rabs (H_wrong - H_right))
    by (apply Rmult_le_compat_r; [assumption|nra]).
  lra.
Qed.

Theorem proved : Statements.extension.natural_flow_curve.statement.
Proof.
  unfold Stated.statement; intros n h logits correct elapsed several long some_right positive some_wrong.
  assert (0 < n)%nat as some by lia.
  assert (exists y, response_of n h y /\ correct y = false) as some_wrong'.
  { destruct some_wrong as [y [response wrong]]; exists y; split; [assumption|].
    destruct (correct y); [contradiction wrong; reflexivity|reflexivity]. }
  set (reward := fun y => if correct y then 1 else 0).
  assert (forall z A, Stated.mass n h z A = response_mass n h z A) as mass_stated.
  { intros z A; unfold Stated.mass, response_mass, mean_responses; apply sum_responses_ext; intros y _.
    destruct (A y); ring. }
  assert (forall z A, Stated.entropy_within n h z A = entropy_within n h z A) as within_stated.
  { intros z A; unfold Stated.entropy_within, entropy_within; f_equal; rewrite !mass_stated.
    destruct (set_empty_or_likely n some h z A) as [empty|mass_pos].
    - apply sum_responses_ext; intros y response; rewrite (empty y response); ring.
    - apply sum_responses_ext; intros y _; destruct (A y); [|ring].
      rewrite ln_div, ln_probability by (assumption || apply probability_pos, some); reflexivity. }
  assert (forall path, natural_flow n h reward path ->
    response_entropy n h (path elapsed) = Stated.curve n h (path 0) correct elapsed /\
    Rabs (response_entropy n h (path elapsed) - Stated.entropy_within n h (path 0) correct)
      <= Stated.still_to_go n h (path 0) correct elapsed) as on_flow.
  { intros path [shift follows].
    destruct (flow_ends_within_right_responses n h correct path shift several long some_right some_wrong')
      with (t := elapsed) as [mass_now [entropy_now close]]; [|lra|].
    { intros; apply is_derive_Reals, follows; assumption. }
    pose proof (response_mass_outside n some h (path 0) correct) as outside_mass.
    change (fun y => negb (correct y)) with (outside correct) in *.
    unfold Stated.curve, Stated.mixed, Stated.still_to_go; rewrite !within_stated, !mass_stated.
    change (fun y => negb (correct y)) with (outside correct).
    rewrite outside_mass; split; [|exact close].
    assert (0 < response_mass n h (path 0) correct < 1) as mixed_start.
    { destruct some_right as [y [response right]], some_wrong' as [x [x_response wrong]].
      pose proof (response_mass_pos n some h (path 0) correct y response right).
      pose proof (response_mass_pos n some h (path 0) (outside correct) x x_response) as wrong_pos.
      unfold outside in wrong_pos; rewrite wrong in wrong_pos; specialize (wrong_pos eq_refl).
      unfold outside in outside_mass; lra. }
    pose proof (exp_pos elapsed).
    assert (0 < response_mass n h (path 0) correct * exp elapsed) by (apply Rmult_lt_0_compat; lra).
    rewrite entropy_now, mass_now; unfold binary_entropy.
    replace ((1 - response_mass n h (path 0) correct)
             / (response_mass n h (path 0) correct * exp elapsed + (1 - response_mass n h (path 0) correct)))
      with (1 - response_mass n h (path 0) correct * exp elapsed
             / (response_mass n h (path 0) correct * exp elapsed + (1 - response_mass n h (path 0) correct)))
      by (field; lra).
    ring. }
  split; [|split; [|split]].
  - destruct (natural_flow_exists n some h logits reward) as [flow start]; [lia|].
    destruct (on_flow _ flow) as [entropy_now _].
    change (Stated.flowed n h logits reward elapsed)
      with (tilted_policy n h logits (fun y => exp (elapsed * reward y))).
    rewrite entropy_now; unfold Stated.curve; rewrite !within_stated, !mass_stated.
    assert (forall y, response_of n h y ->
      probability n (tilted_policy n h logits (fun x => exp (0 * reward x))) y = probability n logits y)
      as same_start.
    { intros y response; rewrite probability_tilted by (try lia; try assumption; intros; apply exp_pos).
      rewrite (mean_responses_ext n h logits _ (fun _ => 1))
        by (intros; rewrite Rmult_0_l, exp_0; reflexivity).
      rewrite mean_responses_const, Rmult_0_l, exp_0 by assumption; field. }
    assert (forall A, response_mass n h (tilted_policy n h logits (fun x => exp (0 * reward x))) A
                      = response_mass n h logits A) as same_mass.
    { intros A; apply sum_responses_ext; intros y response; rewrite same_start by assumption; reflexivity. }
    assert (forall A, entropy_within n h (tilted_policy n h logits (fun x => exp (0 * reward x))) A
                      = entropy_within n h logits A) as same_within.
    { intros A; unfold entropy_within; f_equal; apply sum_responses_ext; intros y response.
      rewrite same_start, same_mass by assumption; reflexivity. }
    rewrite !same_mass, !same_within; reflexivity.
  - intros s inside a a_inside; apply (tilted_policy_moves n some); assumption.
  - intros path follows; apply on_flow, natural_flow_centered, follows.
  - intros path follows; apply on_flow, natural_flow_centered, follows.
Qed.

From PolicyEntropy.library Require Import Witnesses Growth Domains.

Theorem witness : Statements.extension.natural_flow_curve.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => Nat.eqb (List.hd 0%nat y) 1), 1; witnessed.
Qed.

Theorem witness_1 : Statements.extension.natural_flow_curve.witness_1.
Proof.
  exists 2%nat, 1%nat, (fun _ _ => 0), (fun y => Nat.eqb (hd 0%nat y) 0), 1; do 5 (split; [witnessed|]).
  exists (fun t _ => log_softmax 2 (fun b => t * (if Nat.eqb b 0 then 1 else 0))); intros t _ s [short _] a inside.
  destruct s; [|simpl in short; lia].
  set (z := fun b => t * (if Nat.eqb b 0 then 1 else 0)).
  assert (forall b, (b < 2)%nat -> softmax 2 (log_softmax 2 z) b = softmax 2 z b) as same.
  { intros b small; rewrite (softmax_ext 2 _ (fun c => z c + - ln (sum 2 (fun d => exp (z d))))); 
      [apply softmax_shift; lia|intros; rewrite log_softmax_eq by lia; ring|exact small]. }
  replace (Statements.extension.natural_flow_curve.advantage _ _ _ _ _ _)
    with (centered 2 (softmax 2 z) (fun b => if Nat.eqb b 0 then 1 else 0) a).
  - apply is_derive_Reals.
    refine (is_derive_log_softmax 2 (fun t b => t * (if Nat.eqb b 0 then 1 else 0))
              (fun b => if Nat.eqb b 0 then 1 else 0) t ltac:(lia) _ a inside).
    intros b _; auto_derive; [trivial|ring].
  - unfold Statements.extension.natural_flow_curve.advantage, centered, mean, action_value, edge_reward; simpl.
    rewrite !same by lia; destruct a as [|[|]]; simpl; [ring|ring|lia].
Qed.

Theorem witness_2 : Statements.extension.natural_flow_curve.witness_2.
Proof. exact witness_1. Qed.

Theorem defined : Statements.extension.natural_flow_curve.defined.
Proof.
  intros n h logits correct elapsed two long right positive wrong; assert (0 < n)%nat as some by lia.
  assert (forall z A, Statements.extension.natural_flow_curve.mass n h z A = response_mass n h z A) as same.
  { intros z A; unfold Statements.extension.natural_flow_curve.mass, response_mass, mean_responses; apply sum_responses_ext; intros y _.
    destruct (A y); ring. }
  assert (forall z, 0 < Statements.extension.natural_flow_curve.mass n h z correct) as of_right.
  { intros z; rewrite same; destruct right as (y & response & inside).
    apply (response_mass_pos n some h z correct y response inside). }
  assert (forall z, 0 < Statements.extension.natural_flow_curve.mass n h z (fun y => negb (correct y))) as of_wrong.
  { intros z; rewrite same; destruct wrong as (y & response & outside).
    apply (response_mass_pos n some h z _ y response), negb_true_iff, not_true_is_false, outside. }
  assert (forall z, 0 < Statements.extension.natural_flow_curve.mass n h z correct * exp elapsed
                        + Statements.extension.natural_flow_curve.mass n h z (fun y => negb (correct y))) as whole.
  { intros z; apply Rplus_lt_0_compat; [apply Rmult_lt_0_compat; [apply of_right|apply exp_pos]|apply of_wrong]. }
  domains;
    first [apply nonzero_of_pos; first [apply of_right | apply of_wrong | apply whole]
          | apply of_right | apply of_wrong
          | apply action_value_edge_reward_pos; [exact some|assumption|assumption|intros; apply exp_pos]
          | apply quotient_pos; [apply Rmult_lt_0_compat; [apply of_right|apply exp_pos]|apply whole]
          | apply quotient_pos; [apply of_wrong|apply whole]
          | apply Rlt_le, quotient_pos; [apply of_wrong|apply of_right]].
Qed.
