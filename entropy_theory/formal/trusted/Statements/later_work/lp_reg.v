(* Generated from the formula of the claim later-work.lp-reg (Lp-Reg (arXiv 2510.03222), the pull to the proxy). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** K, the tokens whose probability is at least this share of the largest. *)
Definition kept (n : nat) (logits : vector) (floor : R) : mask :=
  fun a => negb (less (softmax n logits a) (floor * largest n (softmax n logits))).

(** pi(K). *)
Definition kept_mass (n : nat) (logits : vector) (floor : R) : R :=
  total_on n (kept n logits floor) (softmax n logits).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of weight on these right answers: -sum of pi_a (c_a - C). *)
Definition raised (n : nat) (logits : vector) (selected : mask) : R :=
  - total_on n selected (fun a => softmax n logits a * excess n logits a).

(** Wrong answers of the proxy of at most this probability. *)
Definition held (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R) : mask :=
  fun a => andb (andb (kept n logits floor a) (negb (correct a))) (negb (less level (softmax n logits a))).

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** pi_a < e^{-H}. *)
Definition rare (n : nat) (logits : vector) : mask :=
  fun a => less (relative_log_prob n logits a) 0.

(** q - pi. *)
Definition to_proxy (n : nat) (logits : vector) (floor : R) : vector :=
  fun a => (if kept n logits floor a then softmax n logits a / kept_mass n logits floor else 0) - softmax n logits a.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= floor ->
  floor <= 1 ->
  0 <= level ->
  level <= 1 ->
  0 <= (1 - kept_mass n logits floor) * raised n logits (fun a => andb (held n logits correct floor level a) (rare n logits a)) /\
  raised n logits (kept n logits floor) <= 0 /\
  derivative (fun t => entropy n (fun a => logits a + t * to_proxy n logits floor a)) (0) (raised n logits (kept n logits floor) / kept_mass n logits floor).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 <= floor /\
  floor <= 1 /\
  0 <= level /\
  level <= 1.

Definition to_proxy_defined (n : nat) (logits : vector) (floor : R) (a : nat) : Prop :=
  ((kept n logits floor a = true) -> kept_mass n logits floor <> 0).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= floor ->
  floor <= 1 ->
  0 <= level ->
  level <= 1 ->
  (forall a, (a < n)%nat -> to_proxy_defined n logits floor a) /\
  kept_mass n logits floor <> 0.
