(** What the sign of a derivative says about a function of one real variable, and Taylor's formula of
    second order in the form of two bounds. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** The derivative that the statements speak of is the one of the standard library. *)
Lemma derivative_of_is_derive f x l : is_derive f x l -> derivable_pt_lim f x l.
Proof. intros slope; apply is_derive_Reals, slope. Qed.

Lemma derivative_ext f g x l :
  (forall t, f t = g t) -> derivable_pt_lim f x l -> derivable_pt_lim g x l.
Proof.
  intros same slope e positive; destruct (slope e positive) as [d close].
  exists d; intros h nonzero small; rewrite <- !same; apply close; assumption.
Qed.

Section OneVariable.

Variables (f f' : R -> R).

Lemma mean_value a b :
  a < b -> (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  exists x, a < x < b /\ f b - f a = f' x * (b - a).
Proof.
  intros order slope.
  destruct (MVT_cor2 f f' a b order) as [x [change inside]].
  - intros x inside; apply is_derive_Reals, slope, inside.
  - exists x; split; assumption.
Qed.

Lemma increasing_from_slope a b :
  a <= b -> (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  (forall x, a < x < b -> 0 <= f' x) -> f a <= f b.
Proof.
  intros [order|same] slope nonneg; [|rewrite same; lra].
  destruct (mean_value a b order slope) as [x [inside change]].
  assert (0 <= f' x * (b - a)) by (apply Rmult_le_pos; [apply nonneg, inside|lra]).
  lra.
Qed.

Lemma strictly_increasing_from_slope a b :
  a < b -> (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  (forall x, a < x < b -> 0 < f' x) -> f a < f b.
Proof.
  intros order slope positive.
  destruct (mean_value a b order slope) as [x [inside change]].
  assert (0 < f' x * (b - a)) by (apply Rmult_lt_0_compat; [apply positive, inside|lra]).
  lra.
Qed.

Lemma decreasing_from_slope a b :
  a <= b -> (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  (forall x, a < x < b -> f' x <= 0) -> f b <= f a.
Proof.
  intros [order|same] slope nonpos; [|rewrite same; lra].
  destruct (mean_value a b order slope) as [x [inside change]].
  assert (0 <= - f' x * (b - a)).
  { apply Rmult_le_pos; [specialize (nonpos x inside); lra|lra]. }
  lra.
Qed.

Lemma strictly_decreasing_from_slope a b :
  a < b -> (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  (forall x, a < x < b -> f' x < 0) -> f b < f a.
Proof.
  intros order slope negative.
  destruct (mean_value a b order slope) as [x [inside change]].
  assert (0 < - f' x * (b - a)).
  { apply Rmult_lt_0_compat; [specialize (negative x inside); lra|lra]. }
  lra.
Qed.

End OneVariable.

(** The slope of a function mirrored at zero. *)
Lemma is_derive_mirrored f f' x : is_derive f (- x) f' -> is_derive (fun t => f (- t)) x (- f').
Proof.
  intros slope; evar_last.
  - apply (is_derive_comp f (fun t => - t)); [exact slope|].
    apply @is_derive_opp, @is_derive_id.
  - unfold scal, opp, one; simpl; unfold mult; simpl; ring.
Qed.

(** Taylor's formula with the remainder of Lagrange, as a bound from above; for steps forward ... *)
Lemma taylor_above_forward f f' f'' most h :
  0 <= h -> (forall t, 0 <= t <= h -> is_derive f t (f' t)) ->
  (forall t, 0 <= t <= h -> is_derive f' t (f'' t)) ->
  (forall t, 0 <= t <= h -> f'' t <= most) ->
  f h <= f 0 + h * f' 0 + most * (h * h) / 2.
Proof.
  intros forward slope curvature bounded.
  assert (first : forall t, 0 <= t <= h -> f' t <= f' 0 + most * t).
  { intros t inside.
    assert (f' t - most * t <= f' 0 - most * 0); [|lra].
    apply (decreasing_from_slope (fun s => f' s - most * s) (fun s => f'' s - most)); [lra| |].
    - intros s s_inside; apply @is_derive_minus; [apply curvature; lra|].
      auto_derive; [trivial|ring].
    - intros s s_inside; specialize (bounded s); lra. }
  assert (f h - (h * f' 0 + most * (h * h) / 2) <= f 0 - (0 * f' 0 + most * (0 * 0) / 2)); [|lra].
  apply (decreasing_from_slope (fun s => f s - (s * f' 0 + most * (s * s) / 2))
           (fun s => f' s - (f' 0 + most * s))); [assumption| |].
  - intros s s_inside; apply @is_derive_minus; [apply slope; lra|].
    auto_derive; [trivial|field].
  - intros s s_inside; specialize (first s); lra.
Qed.

(** ... and in either direction. *)
Lemma taylor_above f f' f'' most h :
  (forall t, is_derive f t (f' t)) -> (forall t, is_derive f' t (f'' t)) ->
  (forall t, f'' t <= most) -> f h <= f 0 + h * f' 0 + most * (h * h) / 2.
Proof.
  intros slope curvature bounded; destruct (Rle_dec 0 h) as [forward|backward].
  - apply (taylor_above_forward f f' f''); auto.
  - pose proof (taylor_above_forward (fun t => f (- t)) (fun t => - f' (- t))
                  (fun t => f'' (- t)) most (- h)) as mirrored.
    simpl in mirrored; rewrite Ropp_involutive, Ropp_0 in mirrored.
    replace (h * f' 0) with (- h * - f' 0) by ring.
    replace (h * h) with (- h * - h) by ring.
    apply mirrored; [lra| | |].
    + intros t _; apply is_derive_mirrored, slope.
    + intros t _; evar_last.
      * apply @is_derive_opp, is_derive_mirrored, curvature.
      * unfold opp; simpl; ring.
    + intros t _; apply bounded.
Qed.

Lemma taylor_below f f' f'' least h :
  (forall t, is_derive f t (f' t)) -> (forall t, is_derive f' t (f'' t)) ->
  (forall t, least <= f'' t) -> f 0 + h * f' 0 + least * (h * h) / 2 <= f h.
Proof.
  intros slope curvature bounded.
  pose proof (taylor_above (fun t => - f t) (fun t => - f' t) (fun t => - f'' t) (- least) h) as mirrored.
  simpl in mirrored.
  enough (- f h <= - f 0 + h * - f' 0 + - least * (h * h) / 2) by lra.
  apply mirrored; intros t; [apply @is_derive_opp, slope|apply @is_derive_opp, curvature|].
  specialize (bounded t); lra.
Qed.

(** A function that increases wherever it is zero does not come back to zero from above. *)
Lemma stays_nonneg s s' a b :
  a <= b -> (forall t, a <= t <= b -> is_derive s t (s' t)) ->
  (forall t, a <= t <= b -> s t = 0 -> 0 < s' t) -> 0 <= s a -> 0 <= s b.
Proof.
  intros order slope no_return start.
  destruct (Rle_dec 0 (s b)) as [|fails]; [assumption|exfalso].
  apply Rnot_le_lt in fails.
  destruct order as [order|same]; [|subst b; lra].
  (* The largest time up to which s is still nonnegative. *)
  set (E := fun t => a <= t <= b /\ 0 <= s t).
  destruct (completeness E) as [last [above least]].
  { exists b; intros t [inside _]; lra. }
  { exists a; split; [lra|assumption]. }
  assert (inside : a <= last <= b).
  { split; [apply above; split; [lra|assumption]|apply least; intros t [t_inside _]; lra]. }
  assert (continuous : forall t, a <= t <= b -> continuity_pt s t).
  { intros t t_inside; apply derivable_continuous_pt; exists (s' t).
    apply is_derive_Reals, slope, t_inside. }
  assert (late : forall t, last < t <= b -> s t < 0).
  { intros t [after before]; destruct (Rlt_dec (s t) 0) as [|nonneg]; [assumption|exfalso].
    assert (t <= last); [apply above; split; lra|lra]. }
  assert (at_last : 0 <= s last).
  { destruct (Rle_dec 0 (s last)) as [|negative]; [assumption|exfalso].
    apply Rnot_le_lt in negative.
    destruct (continuous last inside (- s last)) as [d [positive close]]; [lra|].
    enough (last <= last - d / 2) by lra.
    apply least; intros t [t_inside t_nonneg].
    destruct (Rle_dec t (last - d / 2)) as [|later]; [assumption|exfalso].
    assert (t <= last) by (apply above; split; assumption).
    destruct (Req_dec t last) as [same|other]; [subst t; lra|].
    assert (R_dist (s t) (s last) < - s last) as near.
    { apply close; split; [split; [exact I|auto]|].
      simpl; unfold R_dist; rewrite Rabs_left by lra; lra. }
    unfold R_dist in near; apply Rabs_def2 in near; lra. }
  assert (before_end : last < b) by (destruct (Req_dec last b) as [same|]; [subst last; lra|lra]).
  destruct at_last as [positive|zero].
  - (* Positive there, so by continuity also just afterwards. *)
    destruct (continuous last inside (s last) positive) as [d [d_positive close]].
    set (t := Rmin (last + d / 2) b).
    assert (t_late : last < t <= b) by (unfold t; split; [apply Rmin_glb_lt; lra|apply Rmin_r]).
    assert (t <= last + d / 2) by apply Rmin_l.
    assert (R_dist (s t) (s last) < s last) as near.
    { apply close; split; [split; [exact I|lra]|].
      simpl; unfold R_dist; rewrite Rabs_right by lra; lra. }
    unfold R_dist in near; apply Rabs_def2 in near; specialize (late t t_late); lra.
  - (* Zero there, so by its slope positive just afterwards. *)
    assert (rising : 0 < s' last) by (apply no_return; [exact inside|auto]).
    assert (limit : derivable_pt_lim s last (s' last)) by (apply is_derive_Reals, slope, inside).
    destruct (limit (s' last) rising) as [[d d_positive] close]; simpl in close.
    set (h := Rmin (d / 2) (b - last)).
    assert (h_positive : 0 < h) by (unfold h; apply Rmin_glb_lt; lra).
    assert (h_small : h <= d / 2) by apply Rmin_l.
    assert (h_inside : h <= b - last) by apply Rmin_r.
    clearbody h.
    assert (near : Rabs ((s (last + h) - s last) / h - s' last) < s' last)
      by (apply close; [lra|rewrite Rabs_right; lra]).
    apply Rabs_def2 in near; rewrite <- zero, Rminus_0_r in near.
    assert (s (last + h) < 0) by (apply late; lra).
    assert (0 < s (last + h) / h * h) as product by (apply Rmult_lt_0_compat; lra).
    unfold Rdiv in product; rewrite Rmult_assoc, Rinv_l in product by lra; lra.
Qed.
