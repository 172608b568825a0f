(** Extension: a step along an entropy level set. Parameters theta, an objective J and an entropy H that
    are differentiable there, with gradients g and h; the step is g minus its component along h.

    To first order it keeps H and never lowers J, whose rate is the step's squared length; and it
    vanishes exactly where theta is a stationary point of J at that entropy, which, where h does not
    vanish, is where g is a multiple of h. *)

From Coq Require Import Reals Lra.
From PolicyEntropy.library Require Import Definitions Basics Gradients.
From Statements.extension Require Import level_set_step.
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

(** The products of the step, times the squared length of the entropy's gradient, at one state. *)
Theorem proved : statement.
Proof.
  unfold statement; intros n logits reward _ _ _.
  set (h := entropy_gradient n logits).
  set (g := fun a => softmax n logits a * centered n (softmax n logits) reward a).
  set (hh := sum n (fun a => h a * h a)); set (gh := sum n (fun a => g a * h a)).
  change (sum n (fun b => softmax n logits b * centered n (softmax n logits) reward b * h b)) with gh.
  change (fun a => h a * (hh * (softmax n logits a * centered n (softmax n logits) reward a) - gh * h a))
    with (fun a => h a * (hh * g a - gh * h a)).
  change (fun a => softmax n logits a * centered n (softmax n logits) reward a
      * (hh * (softmax n logits a * centered n (softmax n logits) reward a) - gh * h a))
    with (fun a => g a * (hh * g a - gh * h a)).
  change (fun a => (hh * (softmax n logits a * centered n (softmax n logits) reward a) - gh * h a)
      * (hh * (softmax n logits a * centered n (softmax n logits) reward a) - gh * h a))
    with (fun a => (hh * g a - gh * h a) * (hh * g a - gh * h a)).
  assert (forall c k, sum n (fun a => h a * (c * g a - k * h a)) = c * gh - k * hh) as along_h.
  { intros; unfold gh, hh; rewrite <- !sum_scal, <- sum_minus; apply sum_ext; intros; ring. }
  assert (forall c k, sum n (fun a => g a * (c * g a - k * h a)) = c * sum n (fun a => g a * g a) - k * gh)
    as along_g.
  { intros; unfold gh; rewrite <- !sum_scal, <- sum_minus; apply sum_ext; intros; ring. }
  split; [rewrite along_h; ring|].
  rewrite (sum_ext n (fun a => (hh * g a - gh * h a) * (hh * g a - gh * h a))
             (fun a => hh * (g a * (hh * g a - gh * h a)) - gh * (h a * (hh * g a - gh * h a))))
    by (intros; ring).
  rewrite sum_minus, !sum_scal, along_h; ring.
Qed.
