(** Entropy Mechanism, Clip-Cov (Eqs. 10-12) with Theorem 2: on top of the natural gradient, whose logit
    steps are the advantages, leaving the selected logits where they are raises the first-order entropy
    change by sum pi_a K_a over the selected actions, which is positive. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Comparisons Contributions TokenCovariance.
From Trusted.Statements.entropy_mechanism Require clip_cov_npg.
Open Scope R_scope.

Definition natural_gain (n : nat) (logits reward : vector) (lower : R) : R :=
  first_order n logits (fun a =>
    - only (in_band n logits reward lower) (centered n (softmax n logits) reward) a).

Lemma natural_gain_eq n logits reward lower :
  (0 < n)%nat ->
  natural_gain n logits reward lower
  = total_on n (in_band n logits reward lower)
      (fun a => softmax n logits a * token_covariance n logits reward a).
Proof.
  intros some; unfold natural_gain; rewrite first_order_eq by exact some.
  unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _; unfold only, token_covariance.
  destruct (in_band n logits reward lower a); ring.
Qed.

Lemma natural_gain_positive :
  forall (n : nat) (logits reward : vector) (lower : R),
  (2 <= n)%nat -> 0 < lower ->
  nonempty n (in_band n logits reward lower) ->
  0 < natural_gain n logits reward lower.
Proof.
  intros n logits reward lower two positive selected.
  assert (some : (0 < n)%nat) by lia.
  rewrite natural_gain_eq by exact some.
  apply total_on_pos; [exact selected|]; intros a inside member.
  apply Rmult_lt_0_compat; [apply softmax_pos, some|].
  apply andb_true_iff in member as [above _]; apply not_less in above; lra.
Qed.

Theorem proved : Statements.entropy_mechanism.clip_cov_npg.statement.
Proof.
  intros n logits reward lower two positive [a [inside member]].
  apply (natural_gain_positive n logits reward lower two positive).
  exists a; split; [exact inside|exact member].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.clip_cov_npg.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => match a with | 0%nat =>
    0 | _ => 1 end), (1 / 8); witnessed.
Qed.
