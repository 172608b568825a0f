(** A collapse that GRPO causes among the right answers is temporary. At T > 1, with GRPO of weight kappa >= 0
    beside it and eta <= 2: the least likely right logit never falls behind the wrong ones, and the range R of
    the right logits obeys R' - R <= eta [(kappa + 1)(n - m) e^{-B-R} - P_T (e^{-R/T}/m - e^{-R})]. At a constant
    T, and weights kappa in a bounded range, R stays bounded and tends to 0, and H tends to log m. An extension
    of AEPO's Section 4.2; B + R is the likeliest right logit minus the largest wrong one. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Conditional Learning
  LearningLimits RightAnswers TransientCollapse TransientCollapseLimits
  StatementForms.
From Trusted.Statements.extension Require transient_collapse.
Open Scope R_scope.

Theorem collapse_ends :
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  1 < temperature -> 0 < learning_rate <= 2 ->
  let m := count_on n correct in
  let wrong := complement correct in
  let range z := largest_on n correct z - smallest_on n correct z in
  let lead z := smallest_on n correct z - largest_on n wrong z in
  (forall grpo_weight, 0 <= grpo_weight ->
     let step := aepo_step n logits correct temperature grpo_weight in
     let after := moved learning_rate logits step in
     let apart := count_on n wrong * exp (largest_on n wrong logits - largest_on n correct logits) in
     let together := exp (- range logits / temperature) / m - exp (- range logits) in
     let P := total_on n correct (softmax n (tempered temperature logits)) in
     0 <= (grpo_weight + 1) * apart - P * together - (range after - range logits) / learning_rate
     /\ 0 <= lead after - lead logits)
  /\ (forall (grpo_weight : nat -> R) most, (forall k, 0 <= grpo_weight k <= most) ->
        let path :=
          aepo_run n correct (fun _ => learning_rate) 1 (fun _ => temperature) grpo_weight logits in
        (exists bound, forall k, range (path k) <= bound)
        /\ tends_to (fun k => range (path k)) 0
        /\ tends_to (fun k => entropy n (path k)) (ln m)).

Proof.
  intros n logits correct temperature learning_rate two some not_all hot (rate_pos & rate_small)
    m wrong_mask range lead_of.
  pose proof (some_wrong n correct not_all) as wrong.
  split.
  - intros grpo_weight weight_nonneg step after apart together P.
    assert (after = moved learning_rate logits (combined_step n logits correct temperature grpo_weight 1))
      as same.
    { unfold after; apply functional_extensionality; intros a; unfold moved, step.
      rewrite aepo_step_combined; reflexivity. }
    split; [|rewrite same].
    + pose proof (range_change_at_most n logits correct temperature grpo_weight learning_rate some wrong hot
                    weight_nonneg rate_pos rate_small) as bound.
      rewrite <- same in bound; unfold range_on in bound.
      fold (range after) (range logits) m wrong_mask apart together P in bound.
      assert ((range after - range logits) / learning_rate <= (grpo_weight + 1) * apart - P * together); [|lra].
      apply Rmult_le_reg_r with learning_rate; [assumption|].
      replace ((range after - range logits) / learning_rate * learning_rate)
        with (range after - range logits) by (field; lra); lra.
    + pose proof (lead_never_falls n logits correct temperature grpo_weight learning_rate some wrong hot
                    weight_nonneg rate_pos rate_small) as grows.
      unfold lead in grows; unfold lead_of, wrong_mask; lra.
  - intros grpo_weight most weights path; split; [|split].
    + destruct (spread_bounded n correct learning_rate temperature most grpo_weight logits some wrong rate_pos
                  rate_small hot weights) as (bound & _ & bounded).
      exists bound; exact bounded.
    + exact (spread_vanishes n correct learning_rate temperature most grpo_weight logits some wrong rate_pos
               rate_small hot weights).
    + exact (entropy_tends_to_log_m n correct learning_rate temperature most grpo_weight logits some wrong
               rate_pos rate_small hot weights).
Qed.

Theorem proved : Statements.extension.transient_collapse.statement.
Proof.
  intros n logits correct temperature learning_rate grpo_weight two some hot rate_pos rate_small weight_nonneg not_all.
  destruct (collapse_ends n logits correct temperature learning_rate two some not_all hot
              (conj rate_pos rate_small)) as (step & limit).
  split.
  - destruct (step grpo_weight weight_nonneg) as (room & lead_grows).
    assert (forall kappa, moved learning_rate logits (aepo_step n logits correct temperature kappa)
              = after_aepo_step n logits correct temperature kappa learning_rate) as same.
    { intros kappa; rewrite after_aepo_step_eq; apply functional_extensionality; intros a; unfold moved.
      rewrite aepo_step_combined; reflexivity. }
    rewrite same in room, lead_grows; split.
    + match type of room with 0 <= ?bound - ?mass - ?change => assert (change <= bound - mass) as below by lra end.
      exact below.
    + match type of lead_grows with 0 <= ?after - ?before => assert (before <= after) as below by lra end.
      exact below.
  - intros most weights bounds.
    destruct (limit weights most bounds) as (_ & range & entropies).
    rewrite <- aepo_run_eq in range, entropies; exact (conj range entropies).
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.transient_collapse.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.transient_collapse.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2, 1, 1; limits_witnessed. Qed.

Theorem defined : Statements.extension.transient_collapse.defined.
Proof. domains. Qed.
