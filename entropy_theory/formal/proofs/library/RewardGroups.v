(** Groups of independent responses: expectations of what depends on how many of them are right. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Import ListNotations.
Open Scope R_scope.

(** * Binomial weights *)

(** E phi(k), k binomial(m, R/(R + W)), times (R + W)^m. *)
Definition binomial_mean (m : nat) (right wrong : R) (phi : nat -> R) : R :=
  sum (S m) (fun k => C m k * right ^ k * wrong ^ (m - k) * phi k).

Lemma sum_first n f : sum (S n) f = f 0%nat + sum n (fun k => f (S k)).
Proof.
  induction n as [|k IH]; [simpl; ring|].
  change (sum (S (S k)) f) with (sum (S k) f + f (S k)); rewrite IH; simpl; ring.
Qed.

Lemma C_first m : C m 0 = 1.
Proof.
  unfold C; rewrite Nat.sub_0_r; simpl fact; simpl INR.
  pose proof (INR_fact_neq_0 m); field; assumption.
Qed.

Lemma C_last m : C m m = 1.
Proof.
  unfold C; rewrite Nat.sub_diag; simpl fact; simpl INR.
  pose proof (INR_fact_neq_0 m); field; assumption.
Qed.

Lemma C_nonneg m k : 0 < C m k.
Proof.
  unfold C; apply Rdiv_lt_0_compat; [apply INR_fact_lt_0|].
  apply Rmult_lt_0_compat; apply INR_fact_lt_0.
Qed.

(** One more response: it is right or it is wrong. *)
Lemma binomial_mean_step m right wrong phi :
  binomial_mean (S m) right wrong phi
  = right * binomial_mean m right wrong (fun k => phi (S k))
    + wrong * binomial_mean m right wrong phi.
Proof.
  unfold binomial_mean; rewrite (sum_first (S m)), C_first, Nat.sub_0_r.
  rewrite (sum_first m (fun k => C m k * right ^ k * wrong ^ (m - k) * phi k)), C_first, Nat.sub_0_r.
  change (sum (S m) (fun k => C (S m) (S k) * right ^ S k * wrong ^ (S m - S k) * phi (S k)))
    with (sum m (fun k => C (S m) (S k) * right ^ S k * wrong ^ (S m - S k) * phi (S k))
          + C (S m) (S m) * right ^ S m * wrong ^ (S m - S m) * phi (S m)).
  change (sum (S m) (fun k => C m k * right ^ k * wrong ^ (m - k) * phi (S k)))
    with (sum m (fun k => C m k * right ^ k * wrong ^ (m - k) * phi (S k))
          + C m m * right ^ m * wrong ^ (m - m) * phi (S m)).
  rewrite !C_last, !Nat.sub_diag.
  transitivity (wrong * wrong ^ m * phi 0%nat + right * right ^ m * phi (S m)
    + sum m (fun k => right * (C m k * right ^ k * wrong ^ (m - k) * phi (S k))
                      + wrong * (C m (S k) * right ^ S k * wrong ^ (m - S k) * phi (S k)))).
  - rewrite (sum_ext m (fun k => C (S m) (S k) * right ^ S k * wrong ^ (S m - S k) * phi (S k))
      (fun k => right * (C m k * right ^ k * wrong ^ (m - k) * phi (S k))
                + wrong * (C m (S k) * right ^ S k * wrong ^ (m - S k) * phi (S k)))).
    + simpl; ring.
    + intros k inside; rewrite <- pascal by exact inside.
      replace (S m - S k)%nat with (S (m - S k)) by lia.
      replace (m - k)%nat with (S (m - S k)) by lia.
      simpl; ring.
  - rewrite sum_plus, !sum_scal; simpl; ring.
Qed.

Lemma binomial_mean_ext m right wrong phi psi :
  (forall k, (k <= m)%nat -> phi k = psi k) ->
  binomial_mean m right wrong phi = binomial_mean m right wrong psi.
Proof. intros same; apply sum_ext; intros k inside; rewrite same by lia; reflexivity. Qed.

Lemma binomial_mean_total m right wrong :
  right + wrong = 1 -> binomial_mean m right wrong (fun _ => 1) = 1.
Proof.
  intros one; induction m as [|k IH].
  - unfold binomial_mean; simpl; rewrite C_first; ring.
  - rewrite binomial_mean_step, IH; lra.
Qed.

(** * Sums over responses *)

Lemma sum_responses_ext n h f g :
  (forall s, length s = h -> f s = g s) -> sum_responses n h f = sum_responses n h g.
Proof.
  revert f g; induction h as [|k IH]; intros f g same; simpl; [apply same; reflexivity|].
  apply sum_ext; intros a _; apply IH; intros s size; unfold after; apply same; simpl; congruence.
Qed.

Lemma sum_responses_scal n h c f :
  sum_responses n h (fun s => c * f s) = c * sum_responses n h f.
Proof.
  revert f; induction h as [|k IH]; intros f; simpl; [reflexivity|].
  rewrite <- sum_scal; apply sum_ext; intros a _; unfold after; apply IH.
Qed.

Lemma sum_responses_plus n h f g :
  sum_responses n h (fun s => f s + g s) = sum_responses n h f + sum_responses n h g.
Proof.
  revert f g; induction h as [|k IH]; intros f g; simpl; [reflexivity|].
  rewrite <- sum_plus; apply sum_ext; intros a _; unfold after; apply IH.
Qed.

(** * How many members of a group are right *)

Fixpoint hits (correct : mask) (g : state) : nat :=
  match g with
  | [] => 0
  | b :: rest => (if correct b then 1 else 0) + hits correct rest
  end.

Lemma hits_at_most correct g : (hits correct g <= length g)%nat.
Proof. induction g as [|b rest IH]; simpl; [lia|destruct (correct b); lia]. Qed.

Lemma total_over_ext g f f' : (forall b, f b = f' b) -> total_over g f = total_over g f'.
Proof. intros same; induction g as [|b rest IH]; simpl; [reflexivity|rewrite same, IH; reflexivity]. Qed.

Lemma total_over_scal g c f : total_over g (fun b => c * f b) = c * total_over g f.
Proof. induction g as [|b rest IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma total_over_minus g f f' :
  total_over g (fun b => f b - f' b) = total_over g f - total_over g f'.
Proof. induction g as [|b rest IH]; simpl; [ring|rewrite IH; ring]. Qed.

(** A number that depends on whether a member is right. *)
Lemma total_over_kinds (correct : mask) g x y :
  total_over g (fun b => if correct b then x else y)
  = INR (hits correct g) * x + (INR (length g) - INR (hits correct g)) * y.
Proof.
  induction g as [|b rest IH]; cbn [total_over hits length]; [simpl; ring|].
  rewrite IH, S_INR, plus_INR; destruct (correct b); simpl; ring.
Qed.

Section Independent.

(** Groups of independent draws of softmax(z): a tree in which every state has the same logits. *)
Variables (n : nat) (z : vector) (correct : mask).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let right := total_on n correct p.
Let wrong := total_on n (complement correct) p.

Definition chance (g : state) : R := probability n (fun _ => z) g.

Lemma chance_cons b rest : chance (b :: rest) = p b * chance rest.
Proof. reflexivity. Qed.

Lemma sum_kinds x y :
  sum n (fun b => p b * (if correct b then x else y)) = right * x + wrong * y.
Proof.
  unfold right, wrong, total_on; rewrite <- !sum_scal_r, <- sum_plus; apply sum_ext; intros b _.
  unfold only, complement; destruct (correct b); simpl; ring.
Qed.

Lemma right_plus_wrong : right + wrong = 1.
Proof.
  rewrite <- (softmax_sum n z some); fold p; unfold right, wrong, total_on; rewrite <- sum_plus.
  apply sum_ext; intros b _; unfold only, complement; destruct (correct b); simpl; ring.
Qed.

(** The number of right members is binomial. *)
Lemma mean_of_hits m phi :
  sum_responses n m (fun g => chance g * phi (hits correct g)) = binomial_mean m right wrong phi.
Proof.
  revert phi; induction m as [|k IH]; intros phi.
  - unfold binomial_mean, chance; simpl; rewrite C_first; ring.
  - rewrite binomial_mean_step, <- !IH, <- sum_kinds; cbn [sum_responses].
    apply sum_ext; intros b _; unfold after.
    rewrite (sum_responses_ext n k _
      (fun s => p b * (chance s * phi ((if correct b then 1 else 0) + hits correct s)%nat))).
    + rewrite !sum_responses_scal; destruct (correct b); simpl; reflexivity.
    + intros s _; rewrite chance_cons; simpl; ring.
Qed.

(** How often action a occurs, jointly with the number of right members: each of the m members is a with
    probability pi_a, and the others are then a group of m - 1. *)
Lemma mean_of_hits_and_count m a phi :
  (a < n)%nat ->
  sum_responses n m (fun g => chance g * (phi (hits correct g)
                                * total_over g (only (Nat.eqb a) (fun _ => 1))))
  = INR m * p a * binomial_mean (pred m) right wrong
      (fun k => phi ((if correct a then 1 else 0) + k)%nat).
Proof.
  intros inside; revert phi; induction m as [|k IH]; intros phi; [simpl; ring|].
  cbn [sum_responses].
  transitivity (sum n (fun b => p b * (if correct b then
      INR k * p a * binomial_mean (pred k) right wrong
        (fun j => phi (1 + ((if correct a then 1 else 0) + j))%nat)
      else INR k * p a * binomial_mean (pred k) right wrong
        (fun j => phi ((if correct a then 1 else 0) + j)%nat))
    + only (Nat.eqb a) (fun b => p b * binomial_mean k right wrong
        (fun j => phi ((if correct b then 1 else 0) + j)%nat)) b)).
  - apply sum_ext; intros b _; unfold after.
    rewrite (sum_responses_ext n k _
      (fun s => p b * (chance s * (phi ((if correct b then 1 else 0) + hits correct s)%nat
                                   * total_over s (only (Nat.eqb a) (fun _ => 1))))
                + only (Nat.eqb a) (fun _ => 1) b * p b
                  * (chance s * phi ((if correct b then 1 else 0) + hits correct s)%nat))).
    2: { intros s _; rewrite chance_cons; simpl; ring. }
    rewrite sum_responses_plus, !sum_responses_scal.
    rewrite (mean_of_hits k (fun j => phi ((if correct b then 1 else 0) + j)%nat)).
    rewrite (IH (fun j => phi ((if correct b then 1 else 0) + j)%nat)).
    f_equal; [destruct (correct b); reflexivity|].
    unfold only; destruct (Nat.eqb a b); ring.
  - rewrite sum_plus, sum_kinds.
    assert (picked : forall f, sum n (only (Nat.eqb a) f) = f a).
    { intros f; clear - inside; induction n as [|k IH]; [lia|simpl; unfold only at 2].
      destruct (Nat.eqb_spec a k) as [same|other].
      - subst k; rewrite (sum_ext a _ (fun _ => 0)), sum_zero; [ring|].
        intros b below; unfold only; destruct (Nat.eqb_spec a b); [lia|reflexivity].
      - rewrite IH by lia; ring. }
    rewrite picked, S_INR; cbn [pred].
    destruct k as [|j]; [simpl; ring|].
    rewrite (binomial_mean_step j); cbn [pred].
    rewrite (binomial_mean_ext j right wrong
      (fun i => phi (1 + ((if correct a then 1 else 0) + i))%nat)
      (fun i => phi ((if correct a then 1 else 0) + S i)%nat)); [ring|].
    intros i _; f_equal; lia.
Qed.

End Independent.
