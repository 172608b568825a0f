(** AEnt, Proposition 1 (II): an almost stationary policy is almost optimal where a right response is not
    rare. V*(q) - V(q) <= |D| sqrt(h) ||grad V(D)||_2/C(q), C(q) the probability of the likeliest right
    response. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds Stationarity.
From Trusted.Statements.aent Require Import proposition_1ii.
Open Scope R_scope.

Theorem proved : Statements.aent.proposition_1ii.statement.
Proof.
  intros n h prompts logits reward several long some_prompts; assert (0 < n)%nat as some by lia.
  assert (1 <= INR n) as one by (apply (le_INR 1); lia).
  assert (value_gradient n h prompts logits reward = fun q => gradient_of_value n h (logits q) (reward q)) as formula
    by (apply functional_extensionality; intros q; apply value_gradient_formula).
  unfold square_of_gradient; rewrite formula; split; [|intros direction; apply mean_return_along; lia].
  change (sum prompts _) with (data_gradient_squares n h prompts logits reward).
  intros q inside; unfold largest_right_probability, gap, is_right.
  pose proof (data_gradient_squares_nonneg n h prompts logits reward) as nonneg.
  pose proof (pos_INR h) as horizon_nonneg; pose proof (pow2_ge_0 (INR prompts)) as square_nonneg.
  destruct (at_right_response n h (logits q) (reward q) some) as (y & response & [->|zero]).
  - pose proof (data_gap_le_gradient n h prompts logits reward some long q y inside response) as bound.
    unfold Rsqr in bound; replace (INR prompts ^ 2) with (INR prompts * INR prompts) by ring; lra.
  - rewrite zero, !Rmult_0_l; apply Rmult_le_pos; [apply Rmult_le_pos|]; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.proposition_1ii.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)); witnessed.
Qed.

Theorem defined : Statements.aent.proposition_1ii.defined.
Proof. domains. Qed.
