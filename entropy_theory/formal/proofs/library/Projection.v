(** The part of a gradient that another gradient leaves: what a step along a level set follows. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients.
Open Scope R_scope.

(** What is left of the gradient g when its component along the gradient h is taken away; where h is zero there is
    none. *)
Definition projected (d : nat) (g h : vector) : vector :=
  fun i => g i - (if less 0 (sum d (fun j => h j * h j))
                  then sum d (fun j => g j * h j) / sum d (fun j => h j * h j) else 0) * h i.

Section Projection.

Variables (d : nat) (g h : vector).

Lemma projected_orthogonal : sum d (fun i => h i * projected d g h i) = 0.
Proof.
  unfold projected; set (c := if less _ _ then _ else 0) in *.
  rewrite (sum_ext d _ (fun i => g i * h i - c * (h i * h i))), sum_minus, sum_scal
    by (intros; ring).
  destruct (Req_dec (sum d (fun i => h i * h i)) 0) as [zero|other].
  - rewrite zero, (sum_ext d _ (fun _ => 0)), sum_zero; [ring|].
    intros i inside; rewrite (sum_squares_zero d h zero i inside); ring.
  - unfold c, less; destruct (Rlt_dec 0 _) as [_|none]; [field; exact other|].
    pose proof (sum_squares_nonneg d h); lra.
Qed.

Lemma along_projected :
  sum d (fun i => g i * projected d g h i)
  = sum d (fun i => projected d g h i * projected d g h i).
Proof.
  pose proof projected_orthogonal as orthogonal; unfold projected at 2; set (c := if less _ _ then _ else 0) in *.
  rewrite (sum_ext d (fun i => (g i - c * h i) * projected d g h i)
             (fun i => g i * projected d g h i - c * (h i * projected d g h i))) by (intros; ring).
  rewrite sum_minus, sum_scal, orthogonal; ring.
Qed.

(** Nothing is left exactly where g vanishes along everything that h does not see. *)
Lemma projected_vanishes :
  (forall i, (i < d)%nat -> projected d g h i = 0) <->
  (forall u, sum d (fun i => h i * u i) = 0 -> sum d (fun i => g i * u i) = 0).
Proof.
  split.
  - intros nothing u level; unfold projected in nothing; set (c := if less _ _ then _ else 0) in *.
    rewrite (sum_ext d _ (fun i => c * (h i * u i))), sum_scal, level; [ring|].
    intros i inside; specialize (nothing i inside).
    replace (g i) with (c * h i) by lra; ring.
  - intros stationary; apply sum_squares_zero; rewrite <- along_projected.
    apply stationary, projected_orthogonal.
Qed.

Lemma projected_parallel :
  sum d (fun i => h i * h i) <> 0 ->
  ((forall i, (i < d)%nat -> projected d g h i = 0) <->
   exists c, forall i, (i < d)%nat -> g i = c * h i).
Proof.
  intros some; split.
  - intros nothing; eexists; intros i inside; specialize (nothing i inside).
    unfold projected in nothing; apply Rminus_diag_uniq, nothing.
  - intros (c & parallel) i inside; unfold projected.
    rewrite (sum_ext d (fun j => g j * h j) (fun j => c * (h j * h j))), sum_scal
      by (intros; rewrite parallel by assumption; ring).
    unfold less; destruct (Rlt_dec 0 _) as [_|none]; [rewrite parallel by assumption; field; exact some|].
    pose proof (sum_squares_nonneg d h); lra.
Qed.

End Projection.

