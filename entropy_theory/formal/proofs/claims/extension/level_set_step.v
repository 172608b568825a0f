(** Extension: a step along an entropy level set. Parameters theta, an objective J and an entropy H that
    are differentiable there, with gradients g and h; the step is g minus its component along h.

    To first order it keeps H and never lowers J, whose rate is the step's squared length; and it
    vanishes exactly where theta is a stationary point of J at that entropy, which, where h does not
    vanish, is where g is a multiple of h. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients Projection TabularGradients.
From Trusted.Statements.extension Require level_set_step.
Open Scope R_scope.

Theorem any_parametrization :
  forall (d : nat) (J H : vector -> R) (theta g h : vector),
  has_gradient d J theta g -> has_gradient d H theta h ->
  let step := projected d g h in
  derivative (fun t => H (fun i => theta i + t * step i)) 0 0
  /\ derivative (fun t => J (fun i => theta i + t * step i)) 0 (sum d (fun i => step i * step i))
  /\ 0 <= sum d (fun i => step i * step i)
  /\ ((forall i, (i < d)%nat -> step i = 0) <->
      (forall u, sum d (fun i => h i * u i) = 0 -> sum d (fun i => g i * u i) = 0))
  /\ (0 < sum d (fun i => h i * h i) ->
      ((forall i, (i < d)%nat -> step i = 0) <->
       exists c, forall i, (i < d)%nat -> g i = c * h i)).
Proof.
  intros d J H theta g h gradient_J gradient_H step.
  pose proof (line_derivative d H theta h step gradient_H) as H_rate.
  pose proof (line_derivative d J theta g step gradient_J) as J_rate.
  unfold step in H_rate, J_rate.
  rewrite projected_orthogonal in H_rate; rewrite along_projected in J_rate.
  split; [exact H_rate|]; split; [exact J_rate|]; split; [apply sum_squares_nonneg|].
  split; [apply projected_vanishes|].
  intros some; apply projected_parallel; lra.
Qed.

(** The statement as generated: one state, and its logits as the parameters. *)
Theorem proved : Statements.extension.level_set_step.statement.
Proof.
  unfold Statements.extension.level_set_step.statement.
  intros n logits reward at_least_two _ _.
  assert (0 < n)%nat as some by lia.
  set (h := entropy_gradient n logits).
  set (g := Statements.extension.level_set_step.reward_gradient n logits reward).
  change (Statements.extension.level_set_step.scaled_step n logits reward)
    with (fun a => sum n (fun b => h b * h b) * g a - sum n (fun b => g b * h b) * h a).
  change (Statements.extension.level_set_step.level_step n logits reward) with (projected n g h).
  destruct (any_parametrization n (fun x => mean n (softmax n x) reward) (fun x => entropy n x) logits g h
              (gradient_of_performance n logits reward some) (gradient_of_entropy n logits some))
    as (H_rate & J_rate & _ & stationary & _).
  split; [|split; [exact H_rate|split; [exact J_rate|exact stationary]]].
  set (hh := sum n (fun b => h b * h b)); set (gh := sum n (fun b => g b * h b)).
  assert (forall c k, sum n (fun a => h a * (c * g a - k * h a)) = c * gh - k * hh) as along_h.
  { intros; unfold gh, hh; rewrite <- !sum_scal, <- sum_minus; apply sum_ext; intros; ring. }
  split; [rewrite along_h; ring|].
  rewrite (sum_ext n (fun a => (hh * g a - gh * h a) * (hh * g a - gh * h a))
             (fun a => hh * (g a * (hh * g a - gh * h a)) - gh * (h a * (hh * g a - gh * h a))))
    by (intros; ring).
  rewrite sum_minus, !sum_scal, along_h; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.level_set_step.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.level_set_step.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); limits_witnessed. Qed.

Theorem witness_2 : Statements.extension.level_set_step.witness_2.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); limits_witnessed. Qed.

Theorem defined : Statements.extension.level_set_step.defined.
Proof. domains. Qed.
