(** Entropy Mechanism, KL-Cov (Eqs. 13, 14) as coded, with Theorem 2: the penalty |log r| on the selected
    actions under the natural gradient, where a score w moves the logits by w / pi. It adds the sum of
    pi_old sign(log r) (log pi + H) over them to the first-order entropy change: positive if each has become
    likelier and is above e^{-H}, or rarer and is below; without that hypothesis the claim is false. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Comparisons Contributions.
From Trusted.Statements.entropy_mechanism Require kl_cov_npg.
Open Scope R_scope.

Import Statements.entropy_mechanism.kl_cov_npg(old_policy, log_ratio, selected, penalty_score).

(** The step is the natural gradient: the Fisher matrix diag(pi) - pi pi^T takes it to the logit step of the
    scores. *)
Lemma natural_step n logits w a :
  (0 < n)%nat ->
  softmax n logits a * centered n (softmax n logits) (fun b => w b / softmax n logits b) a
  = score_step n logits w a.
Proof.
  intros some.
  assert (forall b, softmax n logits b <> 0) as nonzero by (intros; apply Rgt_not_eq, softmax_pos, some).
  unfold centered, score_step, mean.
  rewrite (sum_ext n _ w) by (intros; field; apply nonzero).
  field; apply nonzero.
Qed.

Lemma natural_penalty_gain n logits drift reward lower :
  (0 < n)%nat ->
  first_order n logits (fun a =>
    only (selected n logits drift reward lower) (penalty_score n logits drift) a / softmax n logits a)
  = total_on n (selected n logits drift reward lower) (fun a =>
      old_policy n logits drift a
      * (sign_of (log_ratio n logits drift a) * centered n (softmax n logits) logits a)).
Proof.
  intros some; rewrite first_order_eq by exact some.
  unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _.
  assert (softmax n logits a <> 0) by apply Rgt_not_eq, softmax_pos, some.
  unfold only, penalty_score; destruct (selected n logits drift reward lower a); field; assumption.
Qed.

Theorem proved : Statements.entropy_mechanism.kl_cov_npg.repair.
Proof.
  intros n logits drift reward lower two positive [k [inside member]] undone.
  assert (some : (0 < n)%nat) by lia.
  eapply Rlt_le_trans; [|apply Req_le; symmetry; apply natural_penalty_gain, some].
  apply total_on_pos; [exists k; split; [exact inside|exact member]|]; intros a a_inside chosen.
  apply Rmult_lt_0_compat; [apply softmax_pos, some|].
  destruct (undone a a_inside) as [[not_selected|[likelier above]]|[rarer below]].
  - exfalso; apply not_selected, chosen.
  - rewrite sign_of_positive by exact likelier; rewrite Rmult_1_l; exact above.
  - rewrite sign_of_negative by exact rarer; apply product_of_negatives; [lra|exact below].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.kl_cov_npg.witness.
Proof.
  exists 2%nat, one_to_two, (fun a => match a with 0%nat => - (2 * ln 2) | _ => ln 2 end), zero_and_one, (1 / 8).
  do 2 (split; [witnessed|]); split.
  - exists 1%nat; split; [lia|]; numbers.
  - intros a inside; left; destruct a as [|[|]]; [left|right|lia].
    + intros chosen; revert chosen; numbers.
    + split; [apply Rlt_Rminus, ln_increasing|]; numbers.
Qed.

Theorem defined : Statements.entropy_mechanism.kl_cov_npg.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.entropy_mechanism Require kl_cov_npg.
From Trusted.Conditions.entropy_mechanism Require kl_cov_npg.

Theorem natural_step_witness : Conditions.entropy_mechanism.kl_cov_npg.natural_step_witness.
Proof. exists 1%nat; met. Qed.

Theorem natural_step_defined : Conditions.entropy_mechanism.kl_cov_npg.natural_step_defined.
Proof. domains. Qed.
