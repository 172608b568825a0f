(** AEPO, Eq. 1 with Theorem 4.3, as repaired: where GRPO lowers entropy, F(1) < 0, the update of weights kappa
    and alpha raises it, to first order, exactly if F(T) > 0 and alpha > kappa |F(1)|/F(T). As printed, for some
    alpha whatever T > 1 and because F(T) > F(1), it is false. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Learning CombinedUpdate
  StatementForms.
From Trusted.Statements.aepo Require combined_update.
Open Scope R_scope.

Theorem proved : Statements.aepo.combined_update.repair.
Proof.
  intros n logits correct temperature grpo_weight alpha two some hot kappa_pos alpha_pos falls.
  assert (Statements.aepo.combined_update.combined_step n logits correct temperature grpo_weight alpha
          = combined_step n logits correct temperature grpo_weight alpha) as same
    by apply combined_step_form.
  assert (Statements.aepo.combined_update.first_order n logits correct temperature grpo_weight alpha
          = Statements.aepo.combined_update.balance n logits correct temperature grpo_weight alpha) as whole.
  { unfold Statements.aepo.combined_update.first_order, Statements.aepo.combined_update.balance.
    rewrite same, first_order_of_combined_step by lia; rewrite Rplus_comm; reflexivity. }
  rewrite whole.
  assert (untempered_rate n logits correct < 0) as negative
    by (change (0 < - untempered_rate n logits correct) in falls; lra).
  pose proof (balance n logits correct temperature grpo_weight alpha negative kappa_pos
                (Rlt_le _ _ alpha_pos)) as exactly.
  rewrite Rplus_comm in exactly.
  destruct (both_directions _ _ _ exactly) as (first & second).
  split; [exact (conj first second)|].
  split; apply exactly.
Qed.

From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.combined_update.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), 3, 1, 1;
    witnessed.
Qed.

Theorem witness_1 : Statements.aepo.combined_update.witness_1.
Proof. exists 3%nat, one_one_sixteen, (fun a => negb (Nat.eqb a 0)), 2, 1, 100; witnessed. Qed.

Theorem witness_2 : Statements.aepo.combined_update.witness_2.
Proof.
  exists 3%nat, one_one_sixteen, (fun a => negb (Nat.eqb a 0)), 2, 1, 100; do 6 (split; [witnessed|]).
  assert (0 < Statements.aepo.combined_update.rate 3 one_one_sixteen (fun a => negb (Nat.eqb a 0)) 2)
    as above by numbers.
  split; [exact above|]; apply Rlt_div_l; [exact above|]; numbers.
Qed.

Theorem defined : Statements.aepo.combined_update.defined.
Proof. domains. Qed.
