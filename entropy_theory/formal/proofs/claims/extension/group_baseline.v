(** Extension of AEnt, section 4.1: with a group baseline all unsampled tokens change by one factor. The
    weights of the sampled tokens are their advantages minus the mean of these; the step is
    size * sum_i w_i (e_i - pi). *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Contributions Divergence Growth.
From Trusted.Statements.extension Require group_baseline.
Open Scope R_scope.

Definition weights (n : nat) (advantage : vector) (sampled : mask) : vector :=
  only sampled (fun a => advantage a - total_on n sampled advantage / count_on n sampled).
Definition group_step (n : nat) (z advantage : vector) (sampled : mask) (size : R) : vector :=
  fun a => size * (weights n advantage sampled a
                   - softmax n z a * sum n (weights n advantage sampled)).

Section Group.

Variables (n : nat) (z advantage : vector) (sampled : mask) (size : R).
Hypothesis some_sampled : nonempty n sampled.

Let w := weights n advantage sampled.
Let step := group_step n z advantage sampled size.

Lemma some_action : (0 < n)%nat.
Proof. destruct some_sampled as [a [inside _]]; lia. Qed.

Lemma weights_sum_to_zero : sum n w = 0.
Proof.
  pose proof (count_on_pos n sampled some_sampled) as positive.
  set (average := total_on n sampled advantage / count_on n sampled).
  transitivity (total_on n sampled advantage - average * count_on n sampled).
  - unfold total_on, count_on, total_on; rewrite <- sum_scal, <- sum_minus.
    apply sum_ext; intros a _; unfold w, weights, only; fold average.
    destruct (sampled a); ring.
  - unfold average; field; lra.
Qed.

Lemma mean_step : mean n (softmax n z) step = size * mean n (softmax n z) w.
Proof.
  rewrite <- mean_scal; apply mean_ext; intros a _; unfold step, group_step; fold w.
  rewrite weights_sum_to_zero; ring.
Qed.

Lemma unsampled_logit a : sampled a = false -> step a = 0.
Proof.
  intros not_sampled; unfold step, group_step; fold w; rewrite weights_sum_to_zero.
  unfold w, weights, only; rewrite not_sampled; ring.
Qed.

Lemma shared_factor a :
  sampled a = false ->
  log_softmax n (fun b => z b + step b) a - log_softmax n z a
  = - ln (mean n (softmax n z) (fun b => exp (step b))).
Proof.
  intros not_sampled; rewrite log_growth by exact some_action.
  rewrite unsampled_logit by exact not_sampled; ring.
Qed.

Lemma bound a :
  sampled a = false ->
  log_softmax n (fun b => z b + step b) a - log_softmax n z a <= - size * mean n (softmax n z) w.
Proof.
  intros not_sampled.
  apply Rle_trans with (step a - mean n (softmax n z) step); [apply growth_at_most, some_action|].
  rewrite unsampled_logit, mean_step by exact not_sampled; lra.
Qed.

End Group.

Lemma unsampled_tokens :
  forall (n : nat) (logits advantage : vector) (sampled : mask) (size : R),
  nonempty n sampled -> 0 < size ->
  forall a, (a < n)%nat -> sampled a = false ->
  let after := log_softmax n (fun b => logits b + group_step n logits advantage sampled size b) in
  after a - log_softmax n logits a
  = - ln (mean n (softmax n logits) (fun b => exp (group_step n logits advantage sampled size b)))
  /\ after a - log_softmax n logits a
     <= - size * mean n (softmax n logits) (weights n advantage sampled).
Proof.
  intros n logits advantage sampled size some positive a inside not_sampled after; split.
  - apply shared_factor; assumption.
  - apply bound; assumption.
Qed.

Theorem proved : Statements.extension.group_baseline.statement.
Proof.
  intros n logits sampled advantage size two some positive _ a inside.
  destruct (sampled a) eqn:member; [lra|].
  pose proof (unsampled_tokens n logits advantage sampled size some positive a inside member)
    as [_ bounded].
  apply Rge_le, Rge_minus, Rle_ge; exact bounded.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.group_baseline.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (fun _ => 0), 1; witnessed. Qed.

Theorem defined : Statements.extension.group_baseline.defined.
Proof. domains. Qed.
