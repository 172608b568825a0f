(** Entropy Mechanism, Lemma 1, first approximation, repaired: the rate of the entropy of responses is
    sum_s d(s) {-Cov_s(log pi, dz) + Cov_s(H(sa), dz)}, H(sa) the entropy to come after token a.

    It holds along any differentiable path of the logits, in particular along z + t dz; for one token
    the second covariance is zero. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
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
