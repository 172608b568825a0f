(** The kernel of a parametrization with shared parameters, and entropy's rate through it. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients.
Open Scope R_scope.

(** * Many states without an order, n actions at each *)

Definition table := nat -> vector.
Definition total_table (m n : nat) (x : table) : R := sum m (fun s => sum n (fun a => x s a)).
Definition inner (m n : nat) (x y : table) : R := total_table m n (fun s a => x s a * y s a).
Definition table_norm (m n : nat) (x : table) : R := sqrt (inner m n x x).
(** What d parameters move, given how fast each moves each logit. *)
Definition pushed_forward (d : nat) (jacobian : nat -> nat -> vector) (u : vector) : table :=
  fun s a => sum d (fun i => jacobian s a i * u i).
(** The gradient with respect to parameters, of what has the gradient g with respect to logits. *)
Definition pulled_back (m n : nat) (jacobian : nat -> nat -> vector) (g : table) : vector :=
  fun i => total_table m n (fun s a => jacobian s a i * g s a).
(** The kernel of the parametrization: how much a gradient step for one logit moves another. *)
Definition kernel (d : nat) (jacobian : nat -> nat -> vector) (s a s' a' : nat) : R :=
  sum d (fun i => jacobian s a i * jacobian s' a' i).
Definition kernel_times (m n : nat) (K : nat -> nat -> nat -> nat -> R) (x : table) : table :=
  fun s a => total_table m n (fun s' a' => K s a s' a' * x s' a').


Lemma total_table_ext m n x y :
  (forall s a, (s < m)%nat -> (a < n)%nat -> x s a = y s a) -> total_table m n x = total_table m n y.
Proof. intros same; apply sum_ext; intros; apply sum_ext; intros; apply same; assumption. Qed.

Lemma total_table_plus m n x y :
  total_table m n (fun s a => x s a + y s a) = total_table m n x + total_table m n y.
Proof. unfold total_table; rewrite <- sum_plus; apply sum_ext; intros; apply sum_plus. Qed.

Lemma total_table_scal m n c x :
  total_table m n (fun s a => c * x s a) = c * total_table m n x.
Proof. unfold total_table; rewrite <- sum_scal; apply sum_ext; intros; apply sum_scal. Qed.

Lemma total_table_scal_r m n c x :
  total_table m n (fun s a => x s a * c) = total_table m n x * c.
Proof. unfold total_table; rewrite <- sum_scal_r; apply sum_ext; intros; apply sum_scal_r. Qed.

Lemma total_table_sum m n d (f : nat -> table) :
  total_table m n (fun s a => sum d (fun i => f i s a)) = sum d (fun i => total_table m n (f i)).
Proof.
  unfold total_table.
  rewrite (sum_ext m _ (fun s => sum d (fun i => sum n (f i s)))) by (intros; apply sum_swap).
  apply sum_swap.
Qed.

Lemma table_norm_nonneg m n x : 0 <= table_norm m n x.
Proof. apply sqrt_pos. Qed.

Lemma inner_bound m n x y : Rabs (inner m n x y) <= table_norm m n x * table_norm m n y.
Proof. apply cauchy_schwarz_norms. Qed.

(** * The kernel *)

(** A gradient step of the parameters moves the logits by the kernel times the gradient. *)
Lemma kernel_step d m n jacobian g s a :
  pushed_forward d jacobian (pulled_back m n jacobian g) s a
  = kernel_times m n (kernel d jacobian) g s a.
Proof.
  unfold pushed_forward, pulled_back, kernel_times, kernel.
  rewrite (total_table_ext m n _ (fun s' a' =>
    sum d (fun i => jacobian s a i * (jacobian s' a' i * g s' a')))).
  - rewrite (total_table_sum m n d (fun i s' a' => jacobian s a i * (jacobian s' a' i * g s' a'))).
    apply sum_ext; intros i _; symmetry; apply total_table_scal.
  - intros; rewrite <- sum_scal_r; apply sum_ext; intros; ring.
Qed.

(** A kernel close to c times the identity changes an inner product by little. *)
Lemma kernel_inner_bound m n K c k S g :
  table_norm m n (fun s a => kernel_times m n K g s a - c * g s a) <= k * table_norm m n g ->
  Rabs (inner m n S (kernel_times m n K g) - c * inner m n S g) <= k * table_norm m n S * table_norm m n g.
Proof.
  intros close.
  replace (inner m n S (kernel_times m n K g) - c * inner m n S g)
    with (inner m n S (fun s a => kernel_times m n K g s a - c * g s a)).
  - eapply Rle_trans; [apply inner_bound|].
    rewrite (Rmult_comm k), Rmult_assoc; apply Rmult_le_compat_l; [apply table_norm_nonneg|exact close].
  - unfold inner.
    rewrite (total_table_ext m n _ (fun s a => S s a * kernel_times m n K g s a
                                               + - c * (S s a * g s a))) by (intros; ring).
    rewrite total_table_plus, total_table_scal; ring.
Qed.

(** * Entropy *)

Lemma gradient_entropy_logits d n (z : vector -> vector) theta (jacobian : nat -> vector) :
  (0 < n)%nat ->
  (forall a, (a < n)%nat -> has_gradient d (fun x => z x a) theta (jacobian a)) ->
  has_gradient d (fun x => entropy n (z x)) theta
    (fun i => sum n (fun a => entropy_gradient n (z theta) a * jacobian a i)).
Proof.
  intros some differentiable.
  eapply gradient_ext; [|apply gradient_entropy; [exact some|apply gradient_log_softmax; eassumption]].
  intros i _; cbv beta.
  pose proof (softmax_sum n (z theta) some) as one.
  rewrite covariance_sym.
  rewrite (covariance_ext n _ _ _ (fun a => jacobian a i + - mean n (softmax n (z theta))
             (fun b => jacobian b i)) (log_softmax n (z theta))) by (intros; reflexivity).
  rewrite covariance_shift_l, covariance_sym, covariance_centered_l by exact one.
  unfold mean at 1; rewrite <- sum_opp; apply sum_ext; intros a _.
  unfold entropy_gradient; rewrite entropy_log; unfold centered; ring.
Qed.

Lemma gradient_scal d f x c g :
  has_gradient d f x g -> has_gradient d (fun y => c * f y) x (fun i => c * g i).
Proof.
  intros differentiable; apply (gradient_compose d (fun l => c * l)); [|exact differentiable].
  apply is_derive_Reals; auto_derive; [trivial|ring].
Qed.

(** Entropies of m states, weighted by how often each is visited (the weights held fixed), along a
    gradient step of shared parameters for any logit gradient g: the kernel form. *)
Lemma kernel_entropy_rate d m n (z : vector -> table) theta jacobian (weight : vector) g :
  (0 < n)%nat ->
  (forall s a, (s < m)%nat -> (a < n)%nat -> has_gradient d (fun x => z x s a) theta (jacobian s a)) ->
  derivative (fun t => sum m (fun s => weight s
      * entropy n (z (fun i => theta i + t * pulled_back m n jacobian g i) s))) 0
    (inner m n (fun s a => weight s * entropy_gradient n (z theta s) a)
               (kernel_times m n (kernel d jacobian) g)).
Proof.
  intros some differentiable.
  pose proof (line_derivative d (fun x => sum m (fun s => weight s * entropy n (z x s))) theta
    (fun i => sum m (fun s =>
       weight s * sum n (fun a => entropy_gradient n (z theta s) a * jacobian s a i)))
    (pulled_back m n jacobian g)) as along.
  replace (inner m n (fun s a => weight s * entropy_gradient n (z theta s) a)
             (kernel_times m n (kernel d jacobian) g))
    with (sum d (fun i => sum m (fun s =>
       weight s * sum n (fun a => entropy_gradient n (z theta s) a * jacobian s a i))
       * pulled_back m n jacobian g i)).
  - apply along.
    apply (gradient_sum d m (fun s x => weight s * entropy n (z x s)) theta (fun s i =>
       weight s * sum n (fun a => entropy_gradient n (z theta s) a * jacobian s a i))).
    intros s inside; apply (gradient_scal d (fun x => entropy n (z x s))).
    apply (gradient_entropy_logits d n (fun x => z x s)); [exact some|].
    intros a a_inside; apply differentiable; assumption.
  - unfold inner; rewrite (total_table_ext m n _ (fun s a => sum d (fun i =>
      weight s * entropy_gradient n (z theta s) a * jacobian s a i * pulled_back m n jacobian g i))).
    + rewrite (total_table_sum m n d (fun i s a => weight s * entropy_gradient n (z theta s) a
                                                   * jacobian s a i * pulled_back m n jacobian g i)).
      apply sum_ext; intros i _; rewrite total_table_scal_r; f_equal.
      unfold total_table; apply sum_ext; intros s _; rewrite <- sum_scal; apply sum_ext; intros; ring.
    + intros s a _ _; rewrite <- kernel_step; unfold pushed_forward; rewrite <- sum_scal.
      apply sum_ext; intros; ring.
Qed.
