(** Entropy Mechanism, Lemma 1, first approximation, repaired: the rate of the entropy of responses is
    sum_s d(s) {-Cov_s(log pi, dz) + Cov_s(H(sa), dz)}, H(sa) the entropy to come after token a.

    It holds along any differentiable path of the logits, in particular along z + t dz; for one token
    the second covariance is zero. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require lemma_1_visitation.
Module Stated := Statements.entropy_mechanism.lemma_1_visitation.
Import ListNotations.
Open Scope R_scope.

Theorem rate_of_response_entropy :
  forall (n h : nat) (path : R -> policy) (step : state -> vector) (t : R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (step s a)) ->
  derivative (fun r => response_entropy n h (path r)) t
    (sum_states n h (fun s => probability n (path t) s *
       (- covariance n (softmax n (path t s)) (log_softmax n (path t s)) (step s)
        + covariance n (softmax n (path t s)) (entropy_to_come n h (path t) s) (step s)))) /\
  (h = 1%nat -> forall s a, state_of n h s -> entropy_to_come n h (path t) s a = 0).
Proof.
  intros n h path step t several long moves; assert (0 < n)%nat as some by lia; split.
  - apply is_derive_Reals, is_derive_response_entropy_states; [assumption|].
    intros s a inside a_inside; apply is_derive_Reals, moves; assumption.
  - intros one [|b rest] a [short _]; [|simpl in short; lia].
    unfold entropy_to_come; subst h; reflexivity.
Qed.

Theorem proved : Statements.entropy_mechanism.lemma_1_visitation.repair.
Proof.
  unfold Stated.repair, Stated.action_covariance_without_y, Stated.action_covariance, Stated.entropy_rate.
  intros n h logits step several long; assert (0 < n)%nat as some by lia.
  assert (- sum_states n h (fun s => probability n logits s *
      covariance n (softmax n (logits s)) (log_softmax n (logits s)) (step s))
    + sum_states n h (fun s => probability n logits s *
      covariance n (softmax n (logits s))
        (Stated.entropy_to_go n h logits s) (step s))
    = sum_states n h (fun s => probability n logits s *
       (- covariance n (softmax n (logits s)) (log_softmax n (logits s)) (step s)
        + covariance n (softmax n (logits s)) (entropy_to_come n h logits s) (step s)))) as rate.
  { rewrite <- sum_states_opp, <- sum_states_plus; apply sum_states_ext; intros s _.
    rewrite (covariance_ext n _ (Stated.entropy_to_go n h logits s) (step s) (entropy_to_come n h logits s) (step s));
      [ring| |reflexivity].
    intros a _; unfold Stated.entropy_to_go, action_value,
      entropy_to_come, log_policy; ring. }
  rewrite rate; split.
  - cbn [value_at]; rewrite value_states by assumption; apply sum_states_ext; intros s _; f_equal.
    rewrite <- (mean_ext n _ (fun a => centered n (softmax n (logits s)) (step s) a *
      (entropy_to_come n h logits s a - log_softmax n (logits s) a))).
    + rewrite <- covariance_centered_l, (covariance_sym n _ (step s)) by (apply softmax_sum, some).
      rewrite covariance_minus_l by (apply softmax_sum, some); ring.
    + intros a _; unfold action_value, entropy_to_come, log_policy; ring.
  - destruct (rate_of_response_entropy n h (fun t => moved logits t step) step 0 several long) as [slope _].
    { intros s a _ _; apply is_derive_Reals, is_derive_moved. }
    rewrite moved_0 in slope; exact slope.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.lemma_1_visitation.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); witnessed.
Qed.
