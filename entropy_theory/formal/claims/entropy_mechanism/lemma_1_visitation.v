(** Entropy Mechanism, Lemma 1, first approximation, repaired: the rate of the entropy of responses is
    sum_s d(s) {-Cov_s(log pi, dz) + Cov_s(H(sa), dz)}, H(sa) the entropy to come after token a.

    It holds along any differentiable path of the logits, in particular along z + t dz; for one token
    the second covariance is zero.

    What the printed rate leaves out, in the direction that is H(sa) at one state s and zero elsewhere,
    is d(s) Var_s(H(sa)) ([left_out]): positive wherever tokens differ in the entropy to come. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Statements.entropy_mechanism Require lemma_1_visitation.
Module Stated := Statements.entropy_mechanism.lemma_1_visitation.
Import ListNotations.
Open Scope R_scope.

Theorem left_out :
  forall (n h : nat) (z : policy) (s : state),
  (2 <= n)%nat -> state_of n h s ->
  let step u := if list_eq_dec Nat.eq_dec u s then entropy_to_go n h z s else (fun _ => 0) in
  let printed := sum_states n h (fun u => probability n z u *
    - covariance n (softmax n (z u)) (log_softmax n (z u)) (step u)) in
  derivative (fun t => response_entropy n h (moved z t step)) 0
    (printed + probability n z s *
       covariance n (softmax n (z s)) (entropy_to_go n h z s) (entropy_to_go n h z s)).
Proof.
  intros n h z s several inside step printed; assert (0 < n)%nat as some by lia.
  apply is_derive_Reals; evar_last.
  - apply (is_derive_response_entropy_states n h (fun t => moved z t step) step 0 some).
    intros; apply is_derive_moved.
  - rewrite moved_0; unfold printed.
    replace (covariance n (softmax n (z s)) (entropy_to_go n h z s) (entropy_to_go n h z s))
      with (covariance n (softmax n (z s)) (entropy_to_go n h z s) (step s))
      by (unfold step; destruct (list_eq_dec Nat.eq_dec s s) as [_|other]; [reflexivity|contradiction]).
    rewrite <- (sum_states_only_one n h (fun u => probability n z u *
      covariance n (softmax n (z u)) (entropy_to_go n h z u) (step u)) s inside).
    + rewrite <- sum_states_plus; apply sum_states_ext; intros; ring.
    + intros u _ other; unfold step; destruct (list_eq_dec Nat.eq_dec u s); [contradiction|].
      rewrite covariance_eq by (apply softmax_sum, some); unfold mean.
      rewrite !(sum_ext n (fun a => softmax n (z u) a * 0) (fun _ => 0)) by (intros; ring).
      rewrite (sum_ext n (fun a => softmax n (z u) a * (entropy_to_go n h z u a * 0)) (fun _ => 0))
        by (intros; ring).
      rewrite sum_zero; ring.
Qed.

Theorem rate_of_response_entropy :
  forall (n h : nat) (path : R -> policy) (step : state -> vector) (t : R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  (forall s a, state_of n h s -> (a < n)%nat -> derivative (fun r => path r s a) t (step s a)) ->
  derivative (fun r => response_entropy n h (path r)) t
    (sum_states n h (fun s => probability n (path t) s *
       (- covariance n (softmax n (path t s)) (log_softmax n (path t s)) (step s)
        + covariance n (softmax n (path t s)) (entropy_to_go n h (path t) s) (step s)))) /\
  (h = 1%nat -> forall s a, state_of n h s -> entropy_to_go n h (path t) s a = 0).
Proof.
  intros n h path step t several long moves; assert (0 < n)%nat as some by lia; split.
  - apply is_derive_Reals, is_derive_response_entropy_states; [assumption|].
    intros s a inside a_inside; apply is_derive_Reals, moves; assumption.
  - intros one [|b rest] a [short _]; [|simpl in short; lia].
    unfold entropy_to_go; subst h; reflexivity.
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
        + covariance n (softmax n (logits s)) (entropy_to_go n h logits s) (step s)))) as rate.
  { rewrite <- sum_states_opp, <- sum_states_plus; apply sum_states_ext; intros s _.
    rewrite (covariance_ext n _ (Stated.entropy_to_go n h logits s) (step s) (entropy_to_go n h logits s) (step s));
      [ring| |reflexivity].
    intros a _; unfold Stated.entropy_to_go, action_value,
      entropy_to_go, log_policy; ring. }
  rewrite rate; split.
  - cbn [value_at]; rewrite value_states by assumption; apply sum_states_ext; intros s _; f_equal.
    rewrite <- (mean_ext n _ (fun a => centered n (softmax n (logits s)) (step s) a *
      (entropy_to_go n h logits s a - log_softmax n (logits s) a))).
    + rewrite <- covariance_centered_l, (covariance_sym n _ (step s)) by (apply softmax_sum, some).
      rewrite covariance_minus_l by (apply softmax_sum, some); ring.
    + intros a _; unfold action_value, entropy_to_go, log_policy; ring.
  - destruct (rate_of_response_entropy n h (fun t => moved logits t step) step 0 several long) as [slope _].
    { intros s a _ _; apply is_derive_Reals, is_derive_moved. }
    rewrite moved_0 in slope; exact slope.
Qed.
