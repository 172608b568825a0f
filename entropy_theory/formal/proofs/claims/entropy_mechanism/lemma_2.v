(** Entropy Mechanism, Lemma 2 (Appendix B): the derivative of a log-probability by a logit is
    1[a = k] - pi_k. With its remainder, which is exact: a move of logit k by any h changes log pi_a by h
    times this, up to - h^2/8 and 0, because the second derivative is - pi_k (1 - pi_k). *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions.
From Trusted.Statements.entropy_mechanism Require lemma_2.
Open Scope R_scope.

(** The logits with logit k moved by h. *)
Definition moved (z : vector) (k : nat) (h : R) : vector := fun a => z a + h * at_action k a.

(** log pi_a after the move, minus log pi_a, minus h times the derivative. *)
Definition remainder (n : nat) (z : vector) (a k : nat) (h : R) : R :=
  log_softmax n (moved z k h) a - log_softmax n z a
  - h * (at_action k a - softmax n z k).

Section OneLogit.

Variables (n : nat) (z : vector) (a k : nat).
Hypothesis (a_inside : (a < n)%nat) (k_inside : (k < n)%nat).

Lemma some_action : (0 < n)%nat.
Proof. lia. Qed.

Lemma moves b t : (b < n)%nat -> is_derive (fun h => moved z k h b) t (at_action k b).
Proof. intros _; unfold moved; auto_derive; [trivial|ring]. Qed.

Lemma not_moved b : moved z k 0 b = z b.
Proof. unfold moved; ring. Qed.

Lemma softmax_not_moved b : (b < n)%nat -> softmax n (moved z k 0) b = softmax n z b.
Proof. intros inside; apply softmax_ext; [intros; apply not_moved|assumption]. Qed.

Lemma first_derivative t :
  is_derive (fun h => log_softmax n (moved z k h) a) t (at_action k a - softmax n (moved z k t) k).
Proof.
  evar_last.
  - apply is_derive_log_softmax with (v := at_action k);
      [exact some_action|intros; apply moves; assumption|exact a_inside].
  - unfold centered; rewrite mean_at_action by exact k_inside; reflexivity.
Qed.

Lemma second_derivative t :
  is_derive (fun h => at_action k a - softmax n (moved z k h) k) t
    (- (softmax n (moved z k t) k * (1 - softmax n (moved z k t) k))).
Proof.
  evar_last.
  - apply @is_derive_minus; [apply @is_derive_const|].
    apply is_derive_softmax with (v := at_action k);
      [exact some_action|intros; apply moves; assumption|exact k_inside].
  - unfold centered; rewrite mean_at_action by exact k_inside.
    unfold minus, plus, opp, zero; simpl; unfold at_action, only; rewrite Nat.eqb_refl; ring.
Qed.

Lemma at_most_a_quarter t :
  let p := softmax n (moved z k t) k in 0 <= p * (1 - p) <= / 4.
Proof.
  intros p; assert (0 < p) by apply softmax_pos, some_action.
  assert (p <= 1) by apply softmax_le_1, k_inside.
  split; [apply Rmult_le_pos; lra|].
  assert (0 <= (p - / 2) * (p - / 2)) by apply Rle_0_sqr.
  lra.
Qed.

Lemma is_derivative :
  derivative (fun h => log_softmax n (moved z k h) a) 0 (at_action k a - softmax n z k).
Proof.
  apply derivative_of_is_derive; rewrite <- softmax_not_moved by exact k_inside.
  apply first_derivative.
Qed.

Lemma remainder_bounds h : - (h * h / 8) <= remainder n z a k h <= 0.
Proof.
  assert (start : log_softmax n (moved z k 0) a = log_softmax n z a).
  { unfold log_softmax; rewrite softmax_not_moved by exact a_inside; reflexivity. }
  assert (slope : softmax n (moved z k 0) k = softmax n z k)
    by (apply softmax_not_moved, k_inside).
  unfold remainder; rewrite <- start, <- slope; split.
  - pose proof (taylor_below _ _ _ (- / 4) h first_derivative second_derivative) as below.
    enough (forall t, - / 4 <= - (softmax n (moved z k t) k * (1 - softmax n (moved z k t) k)))
      as bounded by (specialize (below bounded); cbv beta in below; lra).
    intros t; pose proof (at_most_a_quarter t); cbv zeta in *; lra.
  - pose proof (taylor_above _ _ _ 0 h first_derivative second_derivative) as above.
    enough (forall t, - (softmax n (moved z k t) k * (1 - softmax n (moved z k t) k)) <= 0)
      as bounded by (specialize (above bounded); cbv beta in above; lra).
    intros t; pose proof (at_most_a_quarter t); cbv zeta in *; lra.
Qed.

End OneLogit.

Theorem proved : Statements.entropy_mechanism.lemma_2.statement.
Proof.
  intros n logits size two positive.
  assert (bounds : forall k a h, (k < n)%nat -> (a < n)%nat ->
    - (h * h / 8) <= Statements.entropy_mechanism.lemma_2.remainder n logits h
                       (Statements.entropy_mechanism.lemma_2.jacobian n logits) k a <= 0).
  { intros k a h k_inside a_inside; apply (remainder_bounds n logits a k a_inside k_inside h). }
  split.
  - repeat split; intros k k_inside a a_inside.
    + pose proof (bounds k a size k_inside a_inside); lra.
    + pose proof (bounds k a size k_inside a_inside); lra.
    + pose proof (bounds k a (- size) k_inside a_inside); lra.
    + pose proof (bounds k a (- size) k_inside a_inside); lra.
  - intros k k_inside a a_inside; apply (is_derivative n logits a k a_inside k_inside).
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.lemma_2.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.
