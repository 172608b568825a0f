(** Extension: an entropy bonus with vanilla gradient steps. The step -c S with S_a = pi_a (log pi_a + H) never
    lowers entropy for 0 < c <= 2/K, K = 5/8 + (1/5) log n; to first order it adds c ||S||^2, which is zero only
    where the policy is uniform. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions CurvatureBounds EntropyChange.
From Trusted.Statements.extension Require entropy_bonus.
Open Scope R_scope.

Definition bonus_step (n : nat) (z : vector) (c : R) : vector := fun a => - c * own_covariance n z a.
Definition curvature_constant (n : nat) : R := (25 + 8 * ln (INR n)) / 40.
Definition squared_tilt (n : nat) (z : vector) : R :=
  sum n (fun a => own_covariance n z a * own_covariance n z a).

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis two : (2 <= n)%nat.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.

Lemma curvature_constant_positive : 0 < curvature_constant n.
Proof.
  assert (0 <= ln (INR n)).
  { rewrite <- ln_1; apply Rcomplements.ln_le; [lra|]; change 1 with (INR 1); apply le_INR; lia. }
  unfold curvature_constant; lra.
Qed.

Lemma first_order_of_bonus c : first_order n z (bonus_step n z c) = c * squared_tilt n z.
Proof.
  rewrite first_order_eq by exact some; unfold squared_tilt; rewrite <- sum_scal, <- sum_opp.
  apply sum_ext; intros; unfold bonus_step, own_covariance; ring.
Qed.

Lemma squared_tilt_nonneg : 0 <= squared_tilt n z.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

(** The gradient of entropy vanishes at the uniform policy only. *)
Lemma no_tilt_only_at_uniform :
  squared_tilt n z = 0 -> forall a, (a < n)%nat -> softmax n z a = / INR n.
Proof.
  intros zero.
  assert (flat : forall a, (a < n)%nat -> z a = mean n (softmax n z) z).
  { intros a inside.
    assert (term : own_covariance n z a * own_covariance n z a = 0).
    { pose proof (sum_ge_term n (fun b => own_covariance n z b * own_covariance n z b) a
                    (fun b _ => Rle_0_sqr (own_covariance n z b)) inside) as below.
      unfold squared_tilt in zero; cbv beta in below; rewrite zero in below.
      pose proof (Rle_0_sqr (own_covariance n z a)) as square; unfold Rsqr in square; lra. }
    apply Rmult_integral in term.
    assert (own_covariance n z a = 0) as none by (destruct term; assumption).
    unfold own_covariance in none; pose proof (softmax_pos n z a some).
    apply Rmult_integral in none as [|deviation]; [lra|unfold centered in deviation; lra]. }
  intros a inside; unfold softmax.
  rewrite (sum_ext n (fun b => exp (z b)) (fun _ => exp (z a)))
    by (intros b b_inside; rewrite (flat b b_inside), (flat a inside); reflexivity).
  rewrite sum_const; pose proof (exp_pos (z a)).
  assert (0 < INR n) by (apply lt_0_INR, some).
  field; lra.
Qed.

Lemma rise_at_least c :
  0 < c -> c * curvature_constant n <= 2 -> 0 <= entropy_change n z (bonus_step n z c).
Proof.
  intros positive small.
  pose proof (first_order_error_sharp n z (bonus_step n z c) some two) as error.
  rewrite covariance_log_softmax in error by (try apply softmax_sum; exact some).
  pose proof (first_order_of_bonus c) as rate; unfold first_order in rate.
  assert (norm : sum n (fun a => bonus_step n z c a * bonus_step n z c a) = c * c * squared_tilt n z).
  { unfold squared_tilt; rewrite <- sum_scal; apply sum_ext; intros; unfold bonus_step; ring. }
  rewrite norm in error.
  set (change := entropy_change n z (bonus_step n z c)) in *.
  set (cov := covariance n (softmax n z) z (bonus_step n z c)) in *.
  pose proof (Rle_abs (- (change + cov))) as lower; rewrite Rabs_Ropp in lower.
  assert (0 <= c * squared_tilt n z * (2 - c * curvature_constant n)).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [lra|apply squared_tilt_nonneg]|lra]. }
  unfold curvature_constant in *; lra.
Qed.

End OneState.

Theorem proved : Statements.extension.entropy_bonus.statement.
Proof.
  intros n logits share two positive small.
  pose proof (curvature_constant_positive n two) as K_positive.
  split; [|split].
  - apply (rise_at_least n logits two).
    + apply Rmult_lt_0_compat; [exact positive|apply Rdiv_lt_0_compat; [lra|exact K_positive]].
    + fold (curvature_constant n).
      replace (share * (2 / curvature_constant n) * curvature_constant n) with (2 * share) by (field; lra).
      lra.
  - intros c; pose proof (first_order_is_derivative n logits (bonus_step n logits c) ltac:(lia)) as rate.
    rewrite first_order_of_bonus in rate by exact two; exact rate.
  - intros none a inside; unfold Rdiv; rewrite Rmult_1_l.
    apply no_tilt_only_at_uniform; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.entropy_bonus.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.

Theorem witness_1 : Statements.extension.entropy_bonus.witness_1.
Proof. exists 2%nat, (fun _ => 0), 1; limits_witnessed. Qed.

Theorem defined : Statements.extension.entropy_bonus.defined.
Proof.
  domains; apply nonzero_of_pos; match goal with |- 0 < (25 + 8 * ln (INR ?n)) / 40 =>
    assert (ln 1 < ln (INR n)) by (apply ln_increasing; [lra|apply (lt_INR 1); lia]) end.
  rewrite ln_1 in *; lra.
Qed.
