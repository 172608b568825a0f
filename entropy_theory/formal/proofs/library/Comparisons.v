(** The booleans of comparisons, and the signs of products. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

Lemma is_less x y : less x y = true <-> x < y.
Proof. unfold less; destruct (Rlt_dec x y); split; intros given; try discriminate; auto; lra. Qed.

Lemma is_not_less x y : less x y = false <-> y <= x.
Proof. unfold less; destruct (Rlt_dec x y); split; intros given; try discriminate; auto; lra. Qed.

Lemma not_less x y : negb (less x y) = true <-> y <= x.
Proof. rewrite negb_true_iff; apply is_not_less. Qed.

Lemma factors_of_positive x y : 0 < x * y -> (0 < x /\ 0 < y) \/ (x < 0 /\ y < 0).
Proof.
  intros product.
  destruct (Rtotal_order x 0) as [below|[zero|above]].
  - right; split; [assumption|]; destruct (Rlt_dec y 0) as [|nonneg]; [assumption|].
    assert (0 <= - x * y) by (apply Rmult_le_pos; lra); lra.
  - rewrite zero in product; lra.
  - left; split; [assumption|]; destruct (Rlt_dec 0 y) as [|nonpos]; [assumption|].
    assert (0 <= x * - y) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma product_of_negatives x y : x < 0 -> y < 0 -> 0 < x * y.
Proof.
  intros; replace (x * y) with (- x * - y) by ring; apply Rmult_lt_0_compat; lra.
Qed.

Lemma sign_of_positive x : 0 < x -> sign_of x = 1.
Proof.
  intros positive; unfold sign_of, less.
  destruct (Rlt_dec 0 x); destruct (Rlt_dec x 0); lra.
Qed.

Lemma sign_of_negative x : x < 0 -> sign_of x = - 1.
Proof.
  intros negative; unfold sign_of, less.
  destruct (Rlt_dec 0 x); destruct (Rlt_dec x 0); lra.
Qed.

Lemma sign_of_is_sign x : sign_of x = sign x.
Proof.
  destruct (Rtotal_order x 0) as [below|[zero|above]].
  - rewrite sign_of_negative, sign_eq_m1; lra.
  - subst x; rewrite sign_0; unfold sign_of, less; destruct (Rlt_dec 0 0); lra.
  - rewrite sign_of_positive, sign_eq_1; lra.
Qed.
