(** Entropy Mechanism, Clip-Cov (Eqs. 10-12): zeroing the score of the actions whose covariance K lies in a
    band raises the first-order entropy change of vanilla policy gradient. False as printed; true if every
    selected action with a positive advantage has c_a > C, where c_a = pi_a (log pi_a + H). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Comparisons Contributions TokenCovariance.
From Trusted.Statements.entropy_mechanism Require clip_cov.
Open Scope R_scope.

(** What zeroing adds: the selected weighted scores pi A, taken away. *)
Definition gain (n : nat) (logits reward : vector) (lower : R) : R :=
  first_order n logits (score_step n logits (fun a =>
    - only (in_band n logits reward lower)
        (fun b => softmax n logits b * centered n (softmax n logits) reward b) a)).

Lemma gain_eq n logits reward lower :
  (0 < n)%nat ->
  gain n logits reward lower
  = total_on n (in_band n logits reward lower)
      (fun a => softmax n logits a * (centered n (softmax n logits) reward a * excess n logits a)).
Proof.
  intros some; unfold gain; rewrite first_order_score_step by exact some.
  unfold total_on; rewrite <- sum_opp; apply sum_ext; intros a _; unfold only.
  destruct (in_band n logits reward lower a); ring.
Qed.

Lemma zeroing_raises :
  forall (n : nat) (logits reward : vector) (lower : R),
  (2 <= n)%nat -> 0 < lower ->
  nonempty n (in_band n logits reward lower) ->
  (forall a, (a < n)%nat -> in_band n logits reward lower a = true ->
     0 < centered n (softmax n logits) reward a -> 0 < excess n logits a) ->
  0 < gain n logits reward lower.
Proof.
  intros n logits reward lower two positive selected no_weak_right_answer.
  assert (some : (0 < n)%nat) by lia.
  rewrite gain_eq by exact some.
  apply total_on_pos; [exact selected|]; intros a inside member.
  apply Rmult_lt_0_compat; [apply softmax_pos, some|].
  assert (0 < token_covariance n logits reward a) as large.
  { pose proof member as band; apply andb_true_iff in band as [above _].
    apply not_less in above; lra. }
  unfold token_covariance in large; apply factors_of_positive in large as [[likely right]|[rare wrong]].
  - apply Rmult_lt_0_compat; [assumption|apply no_weak_right_answer; assumption].
  - pose proof (rare_below_mean n logits some a rare).
    apply product_of_negatives; assumption.
Qed.

Theorem proved : Statements.entropy_mechanism.clip_cov.repair.
Proof.
  intros n logits reward lower two positive [a [inside member]] no_weak_right_answer.
  apply (zeroing_raises n logits reward lower two positive).
  - exists a; split; [exact inside|exact member].
  - intros b b_inside b_member right.
    destruct (Rlt_dec 0 (excess n logits b)) as [|not_above]; [assumption|exfalso].
    apply no_weak_right_answer; exists b.
    split; [exact b_inside|split; [split; [exact b_member|exact right]|exact not_above]].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.clip_cov.witness.
Proof.
  exists 2%nat, one_to_two, zero_and_one, (1 / 8); do 2 (split; [witnessed|]); split.
  - exists 0%nat; split; [lia|]; numbers.
  - intros (a & inside & (chosen & above) & _).
    destruct a as [|[|]]; [revert above; apply Rle_not_lt; numbers|revert chosen; numbers|lia].
Qed.
