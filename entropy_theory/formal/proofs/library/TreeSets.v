(** Sets of responses: their probability, the entropy within them, and the chain rule of entropy. Where the
    flow of the natural policy gradient takes them when right responses have reward 1. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeTilting.
Open Scope R_scope.

(** The probability of a set of responses, and the entropy of a response given that it is in the set. *)
Definition response_mass (n h : nat) (z : policy) (A : state -> bool) : R :=
  mean_responses n h z (fun y => if A y then 1 else 0).
Definition entropy_within (n h : nat) (z : policy) (A : state -> bool) : R :=
  - sum_responses n h (fun y => if A y
      then probability n z y / response_mass n h z A * ln (probability n z y / response_mass n h z A)
      else 0).

Definition outside (A : state -> bool) : state -> bool := fun y => negb (A y).

Section Sets.

Variable n : nat.
Hypothesis some : (0 < n)%nat.

Lemma response_mass_outside h z A : response_mass n h z (outside A) = 1 - response_mass n h z A.
Proof.
  assert (response_mass n h z (outside A) + response_mass n h z A = 1); [|lra].
  unfold response_mass; rewrite <- mean_responses_plus, (mean_responses_ext n h z _ (fun _ => 1)).
  - apply mean_responses_const, some.
  - intros y _; unfold outside; destruct (A y); simpl; ring.
Qed.

Lemma response_mass_pos h z A y :
  response_of n h y -> A y = true -> 0 < response_mass n h z A.
Proof.
  revert z A y; induction h as [|k IH]; intros z A y [long below_n] inside.
  - destruct y; [|discriminate]; unfold response_mass, mean_responses; simpl; rewrite inside; lra.
  - destruct y as [|a rest]; [discriminate|]; injection long as long; inversion below_n; subst.
    unfold response_mass; rewrite mean_responses_first.
    apply (sum_pos_term n _ a); [|assumption|].
    + intros b _; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
      apply mean_responses_nonneg; [assumption|]; intros x _; unfold after; destruct (A (b :: x)); lra.
    + apply Rmult_lt_0_compat; [apply softmax_pos, some|].
      apply (IH (after a z) (after a A) rest); [split; [reflexivity|assumption]|exact inside].
Qed.

(** Either nothing is in the set, or its probability is positive. *)
Lemma set_empty_or_likely h z A :
  (forall y, response_of n h y -> A y = false) \/ 0 < response_mass n h z A.
Proof.
  destruct (Rlt_dec 0 (response_mass n h z A)) as [likely|unlikely]; [right; assumption|left].
  intros y response; destruct (A y) eqn:inside; [|reflexivity].
  contradiction unlikely; apply (response_mass_pos h z A y response inside).
Qed.

(** H = h(p) + p H(inside) + (1 - p) H(outside). *)
Lemma entropy_chain_rule h z A :
  0 < response_mass n h z A < 1 ->
  response_entropy n h z =
  binary_entropy (response_mass n h z A)
  + response_mass n h z A * entropy_within n h z A
  + (1 - response_mass n h z A) * entropy_within n h z (outside A).
Proof.
  intros inside.
  assert (forall B, 0 < response_mass n h z B ->
    response_mass n h z B * entropy_within n h z B =
    - sum_responses n h (fun y => if B y then probability n z y * ln (probability n z y) else 0)
    + response_mass n h z B * ln (response_mass n h z B)) as part.
  { intros B positive; unfold entropy_within; set (p := response_mass n h z B) in *.
    replace (p * ln p) with (sum_responses n h (fun y => if B y then probability n z y * ln p else 0)).
    - rewrite <- Ropp_mult_distr_r, <- sum_responses_scal, <- !sum_responses_opp, <- sum_responses_plus.
      apply sum_responses_ext; intros y _; destruct (B y); [|ring].
      rewrite ln_div by (assumption || apply probability_pos, some); field; lra.
    - unfold p at 2, response_mass, mean_responses; rewrite Rmult_comm, <- sum_responses_scal.
      apply sum_responses_ext; intros y _; destruct (B y); ring. }
  pose proof (part A ltac:(lra)) as first; pose proof (part (outside A)) as second.
  rewrite response_mass_outside in second; specialize (second ltac:(lra)).
  rewrite first, second; unfold binary_entropy, response_entropy.
  rewrite (sum_responses_ext n h (fun y => probability n z y * ln (probability n z y))
    (fun y => (if A y then probability n z y * ln (probability n z y) else 0)
              + (if outside A y then probability n z y * ln (probability n z y) else 0)))
    by (intros y _; unfold outside; destruct (A y); simpl; ring).
  rewrite sum_responses_plus; ring.
Qed.

(** * The flow with reward 1 for right responses *)

Section Flow.

Variables (h : nat) (correct : state -> bool) (path : R -> policy).
Hypothesis long : (0 < h)%nat.
Hypothesis flow : natural_flow n h (fun y => if correct y then 1 else 0) path.

Let right := response_mass n h (path 0) correct.

Lemma flow_normalizer t :
  mean_responses n h (path 0) (fun y => exp (t * (if correct y then 1 else 0)))
  = right * exp t + (1 - right).
Proof.
  replace (right * exp t + (1 - right))
    with (exp t * right + response_mass n h (path 0) (outside correct))
    by (rewrite response_mass_outside; unfold right; ring).
  unfold right, response_mass; rewrite <- mean_responses_scal, <- mean_responses_plus.
  apply mean_responses_ext; intros y _; unfold outside; destruct (correct y); simpl;
    rewrite ?Rmult_1_r, ?Rmult_0_r, ?exp_0; ring.
Qed.

Hypothesis mixed : 0 < right < 1.

Lemma flow_normalizer_pos t : 0 < right * exp t + (1 - right).
Proof. pose proof (exp_pos t); assert (0 < right * exp t) by (apply Rmult_lt_0_compat; lra); lra. Qed.

(** The probability of right responses is logistic in t. *)
Lemma flow_mass t :
  0 <= t ->
  response_mass n h (path t) correct = right * exp t / (right * exp t + (1 - right)).
Proof.
  intros later; pose proof (flow_normalizer_pos t).
  unfold response_mass, mean_responses.
  rewrite (sum_responses_ext n h _ (fun y => exp t / (right * exp t + (1 - right)) *
    (probability n (path 0) y * (if correct y then 1 else 0)))).
  - rewrite sum_responses_scal; fold (mean_responses n h (path 0) (fun y => if correct y then 1 else 0)).
    fold (response_mass n h (path 0) correct); fold right; field; lra.
  - intros y response; rewrite (natural_flow_tilts n some h _ path t y long flow later response).
    rewrite flow_normalizer; destruct (correct y); [rewrite (Rmult_1_r t); field; lra|].
    rewrite !Rmult_0_r; reflexivity.
Qed.

Lemma flow_mass_range t : 0 <= t -> 0 < response_mass n h (path t) correct < 1.
Proof.
  intros later; rewrite flow_mass by assumption.
  pose proof (flow_normalizer_pos t); pose proof (exp_pos t).
  assert (0 < right * exp t) by (apply Rmult_lt_0_compat; lra).
  split; [apply Rdiv_lt_0_compat; assumption|].
  apply Rmult_lt_reg_r with (right * exp t + (1 - right)); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** Among right responses, and among wrong ones, probabilities stay in proportion. *)
Lemma flow_within t A :
  0 <= t -> (A = correct \/ A = outside correct) ->
  forall y, response_of n h y -> A y = true ->
  probability n (path t) y / response_mass n h (path t) A =
  probability n (path 0) y / response_mass n h (path 0) A.
Proof.
  intros later side y response inside.
  pose proof (flow_normalizer_pos t); pose proof (exp_pos t); pose proof (flow_mass_range t later) as range.
  rewrite (natural_flow_tilts n some h _ path t y long flow later response), flow_normalizer.
  destruct side as [-> | ->].
  - rewrite inside, Rmult_1_r, flow_mass by assumption; fold right; field; repeat split; lra.
  - assert (correct y = false) as wrong by (unfold outside in inside; destruct (correct y); [discriminate|reflexivity]).
    rewrite wrong, Rmult_0_r, exp_0, !response_mass_outside, flow_mass by assumption; fold right.
    field; repeat split; lra.
Qed.

Lemma flow_entropy_within t A :
  0 <= t -> (A = correct \/ A = outside correct) ->
  entropy_within n h (path t) A = entropy_within n h (path 0) A.
Proof.
  intros later side; unfold entropy_within; f_equal; apply sum_responses_ext; intros y response.
  destruct (A y) eqn:inside; [|reflexivity].
  rewrite (flow_within t A later side y response inside); reflexivity.
Qed.

End Flow.

End Sets.

(** h(p) <= 3 sqrt(1 - p). *)
Lemma binary_entropy_near_1 p : 0 < p < 1 -> 0 <= binary_entropy p <= 3 * sqrt (1 - p).
Proof.
  intros inside; unfold binary_entropy.
  assert (forall x, 0 < x -> ln x <= x - 1) as below.
  { intros x positive; pose proof (exp_ineq1_le (ln x)) as tangent; rewrite exp_ln in tangent; lra. }
  assert (ln p <= 0) by (pose proof (below p ltac:(lra)); lra).
  assert (ln (1 - p) <= 0) by (pose proof (below (1 - p) ltac:(lra)); lra).
  split; [nra|].
  set (r := sqrt (1 - p)).
  assert (0 < r) as r_pos by (apply sqrt_lt_R0; lra).
  assert (r * r = 1 - p) as square by (apply sqrt_sqrt; lra).
  assert (r < 1) by nra.
  assert (- p * ln p <= 1 - p) as first.
  { pose proof (below (/ p) (Rinv_0_lt_compat p (proj1 inside))) as bound; rewrite ln_Rinv in bound by lra.
    apply (Rmult_le_compat_l p) in bound; [|lra].
    replace (p * (/ p - 1)) with (1 - p) in bound by (field; lra); lra. }
  assert (- (1 - p) * ln (1 - p) <= 2 * r) as second.
  { rewrite <- square, ln_mult by assumption.
    pose proof (below (/ r) (Rinv_0_lt_compat _ r_pos)) as bound; rewrite ln_Rinv in bound by lra.
    apply (Rmult_le_compat_l (2 * (r * r))) in bound; [|nra].
    replace (2 * (r * r) * (/ r - 1)) with (2 * r - 2 * (r * r)) in bound by (field; lra); nra. }
  nra.
Qed.
