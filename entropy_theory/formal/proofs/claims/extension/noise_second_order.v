(** Extension of Entropy Mechanism, Lemma 1: the mean change of entropy by a random step that comes with either sign is
    that of its covariance, to second order. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature Noise.
From Trusted.Statements.extension Require noise_second_order.
Open Scope R_scope.

Theorem proved : Statements.extension.noise_second_order.statement.
Proof.
  intros n z sampler noise two; assert (0 < n)%nat as some by lia.
  set (mu := softmax n sampler); set (step := fun k a => noise a k).
  assert (sum n mu = 1) as one by apply softmax_sum, some.
  assert (forall k, (k < n)%nat -> 0 <= mu k) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  set (change := fun k => (entropy_change n z (step k) + entropy_change n z (fun a => - step k a)) / 2).
  set (bound := fun k => (2 + 7 * ln (INR n)) * (largest n (step k) - smallest n (step k)) ^ 3 / 24).
  assert (Statements.extension.noise_second_order.noise_effect n z
            (Statements.extension.noise_second_order.noise_covariance n sampler noise)
          = mean n mu (fun k => quadratic_form n z (step k) / 2)) as ->.
  { unfold Rdiv; rewrite mean_scal_r; unfold step.
    rewrite (form_of_noise n z mu noise some); reflexivity. }
  match goal with |- Rabs (?m - _) <= ?b =>
    change (Rabs (mean n mu change - mean n mu (fun k => quadratic_form n z (step k) / 2)) <= b) end.
  match goal with |- _ <= ?b => replace b with (mean n mu bound) end.
  2: { unfold bound, Rdiv; rewrite mean_scal_r, mean_scal, <- mean_scal, <- mean_scal_r.
       rewrite !(Rmult_assoc (mean n _ _)), <- mean_scal_r; apply mean_ext; intros; unfold step; ring. }
  rewrite <- mean_minus.
  assert (forall k, (k < n)%nat -> - bound k <= change k - quadratic_form n z (step k) / 2 <= bound k) as each.
  { intros k _; apply Rabs_le_between; apply (both_signs n z (step k) some). }
  apply Rabs_le; split; [rewrite <- mean_opp|]; (apply mean_le; [exact nonneg|intros; apply each; assumption]).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.noise_second_order.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ _ => 0); witnessed. Qed.

Theorem defined : Statements.extension.noise_second_order.defined.
Proof. domains. Qed.
