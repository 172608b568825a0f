(** Entropy Mechanism, KL-Cov (Eqs. 13, 14) as coded: the penalty |log r| on the selected actions, r the
    ratio of the policy to the one that tokens were sampled from. Its share in the first-order entropy change
    is positive if each selected action has become likelier and has c_a > C, or has become rarer and is below
    e^{-H}; without that hypothesis the claim is false. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Calculus Comparisons Contributions.
From Trusted.Statements.entropy_mechanism Require kl_cov.
Open Scope R_scope.

Import Statements.entropy_mechanism.kl_cov(old_policy, log_ratio, selected, penalty_score).

Definition gain (n : nat) (logits drift reward : vector) (lower : R) : R :=
  first_order n logits (score_step n logits
    (only (selected n logits drift reward lower) (penalty_score n logits drift))).

(** The scores are those of the penalty: along every direction v of the logits the sum of the penalties
    over a set of actions, which have all moved, has minus the slope that the step has with v. *)
Lemma slope_of_penalty n logits drift (A : mask) (v : vector) :
  (0 < n)%nat ->
  (forall a, (a < n)%nat -> A a = true -> log_ratio n logits drift a <> 0) ->
  is_derive
    (fun t => sum n (only A (fun a => old_policy n logits drift a
       * Rabs (log_softmax n (fun b => logits b + t * v b) a
               - log_softmax n (fun b => logits b - drift b) a)))) 0
    (- sum n (fun a => score_step n logits (only A (penalty_score n logits drift)) a * v a)).
Proof.
  intros some moved.
  evar_last.
  - apply (is_derive_sum n
      (fun t a => only A (fun a => old_policy n logits drift a
         * Rabs (log_softmax n (fun b => logits b + t * v b) a
                 - log_softmax n (fun b => logits b - drift b) a)) a)
      (fun a => - (only A (penalty_score n logits drift) a * centered n (softmax n logits) v a))).
    intros a inside; unfold only; destruct (A a) eqn:member.
    + assert (start : log_softmax n (fun b => logits b + 0 * v b) a = log_softmax n logits a).
      { unfold log_softmax; f_equal; apply softmax_ext; [intros; ring|exact inside]. }
      evar_last.
      * apply (is_derive_scal
          (fun t => Rabs (log_softmax n (fun b => logits b + t * v b) a
                          - log_softmax n (fun b => logits b - drift b) a)) 0
          (old_policy n logits drift a)).
        apply is_derive_Rabs.
        -- apply @is_derive_minus; [|apply @is_derive_const].
           apply (is_derive_log_softmax n (fun t b => logits b + t * v b) v 0 some);
             [intros; apply is_derive_line|exact inside].
        -- cbv beta; rewrite start; apply moved; assumption.
      * cbv beta; rewrite start; unfold penalty_score; rewrite sign_of_is_sign.
        fold (log_ratio n logits drift a).
        assert (same : forall b, (b < n)%nat ->
                  softmax n (fun c => logits c + 0 * v c) b = softmax n logits b)
          by (intros; apply softmax_ext; [intros; ring|assumption]).
        unfold minus, plus, opp, zero; simpl; unfold centered, mean.
        rewrite (sum_ext n (fun b => softmax n (fun c => logits c + 0 * v c) b * v b)
                   (fun b => softmax n logits b * v b)) by (intros; rewrite same; auto).
        ring.
    + evar_last; [apply @is_derive_const|unfold zero; simpl; ring].
  - rewrite sum_opp; f_equal; unfold score_step, centered.
    set (w := only A (penalty_score n logits drift)).
    transitivity (sum n (fun a => w a * v a) - sum n w * mean n (softmax n logits) v).
    + rewrite <- sum_scal_r, <- sum_minus; apply sum_ext; intros; ring.
    + unfold mean; rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros; ring.
Qed.

Lemma penalty_raises :
  forall (n : nat) (logits drift reward : vector) (lower : R),
  (2 <= n)%nat -> 0 < lower ->
  nonempty n (selected n logits drift reward lower) ->
  (forall a, (a < n)%nat -> selected n logits drift reward lower a = true ->
     (0 < log_ratio n logits drift a /\ 0 < excess n logits a)
     \/ (log_ratio n logits drift a < 0 /\ centered n (softmax n logits) logits a < 0)) ->
  0 < gain n logits drift reward lower.
Proof.
  intros n logits drift reward lower two positive chosen undone.
  assert (some : (0 < n)%nat) by lia.
  unfold gain; rewrite first_order_score_step, <- sum_opp by exact some.
  rewrite (sum_ext n _ (only (selected n logits drift reward lower)
             (fun a => - (penalty_score n logits drift a * excess n logits a)))).
  2: { intros a _; unfold only; destruct (selected n logits drift reward lower a); ring. }
  apply total_on_pos; [exact chosen|]; intros a inside member.
  assert (0 < old_policy n logits drift a) by apply softmax_pos, some.
  unfold penalty_score; destruct (undone a inside member) as [[likelier above]|[rarer rare]].
  - rewrite sign_of_positive by exact likelier.
    assert (0 < old_policy n logits drift a * excess n logits a) by (apply Rmult_lt_0_compat; lra).
    lra.
  - rewrite sign_of_negative by exact rarer.
    pose proof (rare_below_mean n logits some a rare).
    assert (0 < old_policy n logits drift a * - excess n logits a) by (apply Rmult_lt_0_compat; lra).
    lra.
Qed.

Theorem proved : Statements.entropy_mechanism.kl_cov.repair.
Proof.
  intros n logits drift reward lower two positive [a [inside member]] undone.
  apply (penalty_raises n logits drift reward lower two positive).
  - exists a; split; [exact inside|exact member].
  - intros b b_inside b_member; destruct (undone b b_inside) as [[not_selected|likelier]|rarer].
    + exfalso; apply not_selected, b_member.
    + left; exact likelier.
    + right; exact rarer.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.kl_cov.witness.
Proof.
  exists 2%nat, one_to_two, (fun a => match a with 0%nat => - (2 * ln 2) | _ => ln 2 end), zero_and_one, (1 / 8).
  do 2 (split; [witnessed|]); split.
  - exists 1%nat; split; [lia|]; numbers.
  - intros a inside; left; destruct a as [|[|]]; [left|right|lia].
    + intros chosen; revert chosen; numbers.
    + split; [apply Rlt_Rminus, ln_increasing|]; numbers.
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.entropy_mechanism Require kl_cov.
From Trusted.Conditions.entropy_mechanism Require kl_cov.

Theorem slope_of_penalty_witness : Conditions.entropy_mechanism.kl_cov.slope_of_penalty_witness.
Proof.
  exists 2%nat, one_to_two, (fun a => match a with 0%nat => - (2 * ln 2) | _ => ln 2 end), (fun a => Nat.eqb a 1).
  split; [lia|]; intros a inside chosen; destruct a as [|[|]]; [discriminate| |lia].
  apply not_eq_sym, Rlt_not_eq, Rlt_Rminus, ln_increasing; numbers.
Qed.
