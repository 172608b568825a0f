(** Entropy Mechanism, Theorem 2: under the natural policy gradient the entropy at every state moves by
    -eta Cov_s(log pi, A), up to (1/4)(1 + log n) eta^2 times the square of A at s.

    The natural gradient solves (Fisher information of responses) x = gradient of E R, which the token
    advantage does; every other solution differs from it by a constant at each state. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import Curvature EntropyChange.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.entropy_mechanism Require theorem_2.
Module Stated := Statements.entropy_mechanism.theorem_2.
Import ListNotations.
Open Scope R_scope.

Theorem entropy_under_natural_gradient :
  forall (n h : nat) (z : policy) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat -> (1 <= h)%nat -> 0 < learning_rate ->
  let A := advantage_at n h z (edge_reward h reward) in
  let natural x := forall w,
    derivative (fun t => mean_responses n h (moved z t w) reward) 0
      (mean_responses n h z (fun y =>
         sum_along (centered_policy n z x) y * sum_along (centered_policy n z w) y)) in
  natural A /\
  (forall x, natural x -> forall s a, state_of n h s -> (a < n)%nat -> centered_policy n z x s a = A s a) /\
  (forall s, state_of n h s ->
     let step a := learning_rate * A s a in
     let rate := - covariance n (softmax n (z s)) (log_softmax n (z s)) (A s) in
     Rabs (entropy n (fun a => z s a + step a) - entropy n (z s) - learning_rate * rate)
       <= (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4).
Proof.
  intros n h z reward eta several long positive A natural; assert (0 < n)%nat as some by lia.
  repeat split.
  - intros w; apply is_derive_Reals, natural_gradient_advantage; assumption.
  - intros x solves; apply natural_gradient_unique; try assumption.
    intros w; apply is_derive_Reals, solves.
  - intros s inside step rate.
    pose proof (first_order_error n (z s) step some) as error; unfold entropy_change in error.
    replace (entropy n (fun a => z s a + step a) - entropy n (z s) - eta * rate)
      with (entropy n (moved_by (z s) step) - entropy n (z s)
            + covariance n (softmax n (z s)) (log_softmax n (z s)) step); [exact error|].
    unfold step; rewrite covariance_scal_r; unfold rate, moved_by; ring.
Qed.

Theorem proved : Statements.entropy_mechanism.theorem_2.statement.
Proof.
  unfold Stated.statement, Stated.remainder_bound, Stated.summed.
  intros n h logits reward eta several long positive; assert (0 < n)%nat as some by lia.
  assert (forall s a, state_of n h s -> Stated.advantage n h logits reward s a
            = advantage_at n h logits (edge_reward h reward) s a) as same.
  { intros s a inside; rewrite advantage_centered by apply inside; reflexivity. }
  destruct (entropy_under_natural_gradient n h logits reward eta several long positive)
    as [solves [_ error]]; cbv zeta in solves, error; split.
  - intros s inside; specialize (error s inside); unfold entropy_change, moved_by.
    rewrite (entropy_ext n (fun a => logits s a + eta * Stated.advantage n h logits reward s a)
      (fun a => logits s a + eta * advantage_at n h logits (edge_reward h reward) s a))
      by (intros; rewrite same by assumption; reflexivity).
    rewrite (sum_ext n _ (fun a => eta * advantage_at n h logits (edge_reward h reward) s a
                                   * (eta * advantage_at n h logits (edge_reward h reward) s a)))
      by (intros; rewrite same by assumption; reflexivity).
    rewrite (covariance_ext n _ _ (Stated.advantage n h logits reward s) (log_softmax n (logits s))
      (advantage_at n h logits (edge_reward h reward) s)) by (intros; try apply same; auto).
    exact error.
  - intros w; rewrite (mean_responses_ext n h logits _ (fun y =>
      sum_along (centered_policy n logits (advantage_at n h logits (edge_reward h reward))) y
      * sum_along (centered_policy n logits w) y)); [apply solves|].
    intros y [long_y below_n]; f_equal.
    apply (sum_along_ext n h); [|lia|assumption]; intros s a inside a_inside.
    unfold centered_policy, centered; rewrite same by assumption; f_equal.
    apply mean_ext; intros; apply same, inside.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.theorem_2.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.entropy_mechanism.theorem_2.defined.
Proof. domains. Qed.
