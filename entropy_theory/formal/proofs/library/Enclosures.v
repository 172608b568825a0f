(** Enclosures of real expressions without variables, for counterexamples. The intervals are those of
    coq-interval on Coq's integers, which assume nothing beyond the real numbers. *)

From Coq Require Import Reals ZArith List Bool Lra Lia.
From Interval.Real Require Import Xreal.
From Interval.Float Require Import Basic Sig Specific_ops Specific_stdz.
From Interval.Interval Require Import Interval Float Float_full.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Module Floats := SpecificFloat StdZRadix2.
Module Intervals := FloatIntervalFull Floats.

Definition bits := Floats.PtoP 56.
Definition interval := Intervals.type.
Definition encloses (i : interval) (x : R) : Prop := contains (Intervals.convert i) (Xreal x).

(** * Operations *)

Lemma of_integer k : encloses (Intervals.fromZ bits k) (IZR k).
Proof. apply Intervals.fromZ_correct. Qed.

Lemma of_natural k : encloses (Intervals.fromZ bits (Z.of_nat k)) (INR k).
Proof. rewrite INR_IZR_INZ; apply of_integer. Qed.

Lemma of_sum i j x y : encloses i x -> encloses j y -> encloses (Intervals.add bits i j) (x + y).
Proof. intros; apply (Intervals.add_correct bits i j (Xreal x) (Xreal y)); assumption. Qed.

Lemma of_difference i j x y : encloses i x -> encloses j y -> encloses (Intervals.sub bits i j) (x - y).
Proof. intros; apply (Intervals.sub_correct bits i j (Xreal x) (Xreal y)); assumption. Qed.

Lemma of_product i j x y : encloses i x -> encloses j y -> encloses (Intervals.mul bits i j) (x * y).
Proof. intros; apply (Intervals.mul_correct bits i j (Xreal x) (Xreal y)); assumption. Qed.

Lemma of_negative i x : encloses i x -> encloses (Intervals.neg i) (- x).
Proof. intros; apply (Intervals.neg_correct i (Xreal x)); assumption. Qed.

Lemma of_absolute i x : encloses i x -> encloses (Intervals.abs i) (Rabs x).
Proof. intros; apply (Intervals.abs_correct i (Xreal x)); assumption. Qed.

Lemma of_exp i x : encloses i x -> encloses (Intervals.exp bits i) (exp x).
Proof. intros; apply (Intervals.exp_correct bits i (Xreal x)); assumption. Qed.

(** Where an operation is not defined, its interval is everything. *)
Lemma anything i x : contains (Intervals.convert i) Xnan -> encloses i x.
Proof. unfold encloses; destruct (Intervals.convert i); [constructor|intros []]. Qed.

Lemma of_quotient i j x y : encloses i x -> encloses j y -> encloses (Intervals.div bits i j) (x / y).
Proof.
  intros Hx Hy; pose proof (Intervals.div_correct bits i j (Xreal x) (Xreal y) Hx Hy) as found.
  simpl in found; unfold Xdiv' in found; destruct (is_zero y); [apply anything|]; assumption.
Qed.

Lemma of_inverse i x : encloses i x -> encloses (Intervals.inv bits i) (/ x).
Proof.
  intros Hx; pose proof (Intervals.inv_correct bits i (Xreal x) Hx) as found.
  simpl in found; unfold Xinv' in found; destruct (is_zero x); [apply anything|]; assumption.
Qed.

Lemma of_ln i x : encloses i x -> encloses (Intervals.ln bits i) (ln x).
Proof.
  intros Hx; pose proof (Intervals.ln_correct bits i (Xreal x) Hx) as found.
  simpl in found; unfold Xln' in found; destruct (is_positive x); [|apply anything]; assumption.
Qed.

Lemma of_sqrt i x : encloses i x -> encloses (Intervals.sqrt bits i) (sqrt x).
Proof.
  intros Hx; pose proof (Intervals.sqrt_correct bits i (Xreal x) Hx) as found.
  simpl in found; exact found.
Qed.

Lemma of_power i x k : encloses i x -> encloses (Intervals.power_int bits i (Z.of_nat k)) (x ^ k).
Proof.
  intros Hx; pose proof (Intervals.power_int_correct bits (Z.of_nat k) i (Xreal x) Hx) as found.
  destruct k; [exact found|]; simpl Z.of_nat in *; simpl in found; unfold Xpower_int' in found.
  rewrite SuccNat2Pos.id_succ in found; exact found.
Qed.

(** * Comparisons, where the intervals decide them *)

Definition is_less (i j : interval) : option bool :=
  let d := Intervals.sub bits j i in
  match Intervals.sign_strict d, Intervals.sign_large d with
  | Xgt, _ => Some true
  | _, (Xlt | Xeq) => Some false
  | _, _ => None
  end.

Lemma less_by i j x y b : encloses i x -> encloses j y -> is_less i j = Some b -> if b then x < y else y <= x.
Proof.
  intros Hx Hy; pose proof (of_difference _ _ _ _ Hy Hx) as Hd; unfold is_less; cbv zeta.
  set (d := Intervals.sub bits j i) in *.
  pose proof (Intervals.sign_strict_correct d) as strict; pose proof (Intervals.sign_large_correct d) as large.
  destruct (Intervals.sign_strict d); destruct (Intervals.sign_large d); intros found; try discriminate found;
    injection found as <-; try (pose proof (proj2 (strict _ Hd)) as positive; simpl in positive; lra);
    try (pose proof (proj2 (large _ Hd)) as small; simpl in small; lra);
    pose proof (large _ Hd) as zero; injection zero as zero; lra.
Qed.

(** The difference of two numbers is not zero, or they are one interval's only number. *)
Definition is_equal (i j : interval) : option bool :=
  let d := Intervals.sub bits j i in
  match Intervals.sign_strict d, Intervals.sign_large d with
  | (Xgt | Xlt), _ => Some false
  | _, Xeq => Some true
  | _, _ => None
  end.

Lemma equal_by i j x y b : encloses i x -> encloses j y -> is_equal i j = Some b -> if b then x = y else x <> y.
Proof.
  intros Hx Hy; pose proof (of_difference _ _ _ _ Hy Hx) as Hd; unfold is_equal; cbv zeta.
  set (d := Intervals.sub bits j i) in *.
  pose proof (Intervals.sign_strict_correct d) as strict; pose proof (Intervals.sign_large_correct d) as large.
  destruct (Intervals.sign_strict d); destruct (Intervals.sign_large d); intros found; try discriminate found;
    injection found as <-; try (pose proof (proj2 (strict _ Hd)) as apart; simpl in apart; lra);
    pose proof (large _ Hd) as zero; injection zero as zero; lra.
Qed.

Definition maximum (i j : interval) : interval :=
  match is_less i j with Some true => j | Some false => i | None => Intervals.join i j end.
Definition minimum (i j : interval) : interval :=
  match is_less i j with Some true => i | Some false => j | None => Intervals.join i j end.

Lemma of_maximum i j x y : encloses i x -> encloses j y -> encloses (maximum i j) (Rmax x y).
Proof.
  intros Hx Hy; unfold maximum; destruct (is_less i j) as [[|]|] eqn:found.
  - apply (less_by i j x y true Hx Hy) in found; rewrite Rmax_right by lra; assumption.
  - apply (less_by i j x y false Hx Hy) in found; rewrite Rmax_left by lra; assumption.
  - apply Intervals.join_correct; unfold Rmax; destruct (Rle_dec x y); [right|left]; assumption.
Qed.

Lemma of_minimum i j x y : encloses i x -> encloses j y -> encloses (minimum i j) (Rmin x y).
Proof.
  intros Hx Hy; unfold minimum; destruct (is_less i j) as [[|]|] eqn:found.
  - apply (less_by i j x y true Hx Hy) in found; rewrite Rmin_left by lra; assumption.
  - apply (less_by i j x y false Hx Hy) in found; rewrite Rmin_right by lra; assumption.
  - apply Intervals.join_correct; unfold Rmin; destruct (Rle_dec x y); [left|right]; assumption.
Qed.

Lemma less_is i j x y b : encloses i x -> encloses j y -> is_less i j = Some b -> less x y = b.
Proof.
  intros Hx Hy found; apply (less_by i j x y b Hx Hy) in found; unfold less.
  destruct (Rlt_dec x y), b; lra || reflexivity.
Qed.

Lemma less_equal_is i j x y b :
  encloses i x -> encloses j y -> is_less j i = Some b -> less_equal x y = negb b.
Proof.
  intros Hx Hy found; apply (less_by j i y x b Hy Hx) in found; unfold less_equal.
  destruct (Rle_dec x y), b; lra || reflexivity.
Qed.

Lemma equal_is i j x y b : encloses i x -> encloses j y -> is_equal i j = Some b -> equal x y = b.
Proof.
  intros Hx Hy found; apply (equal_by i j x y b Hx Hy) in found; unfold equal.
  destruct (Req_EM_T x y), b; lra || reflexivity.
Qed.

Lemma less_itself x : less x x = false.
Proof. unfold less; destruct (Rlt_dec x x); lra || reflexivity. Qed.

Lemma equal_itself x : equal x x = true.
Proof. unfold equal; destruct (Req_EM_T x x); congruence || reflexivity. Qed.

(** The integer part of what lies between two integers. *)
Lemma integer_part_is i x k :
  encloses i x -> is_less i (Intervals.fromZ bits k) = Some false ->
  is_less i (Intervals.fromZ bits (k + 1)) = Some true -> Int_part x = k.
Proof.
  intros Hx low high.
  apply (less_by _ _ _ _ _ Hx (of_integer k)) in low; apply (less_by _ _ _ _ _ Hx (of_integer (k + 1))) in high.
  unfold Int_part; rewrite plus_IZR in high; rewrite <- (tech_up x (k + 1)); [lia|rewrite plus_IZR; lra|].
  rewrite plus_IZR; lra.
Qed.

(** The largest integer, up to a hundred, that an interval does not lie below. *)
Definition integer_below (i : interval) : Z :=
  fold_left (fun k m => match is_less i (Intervals.fromZ bits (Z.of_nat m)) with
                        | Some false => Z.of_nat m
                        | _ => k
                        end) (seq 0 100) 0%Z.

Lemma of_true i (b : bool) x y : b = true -> encloses i x -> encloses i (if b then x else y).
Proof. intros ->; exact (fun H => H). Qed.

Lemma of_false i (b : bool) x y : b = false -> encloses i y -> encloses i (if b then x else y).
Proof. intros ->; exact (fun H => H). Qed.

Lemma known i j x : i = j -> encloses i x -> encloses j x.
Proof. intros ->; exact (fun H => H). Qed.
