import type { ComponentChildren, JSX } from 'preact'

/** Forms that change something. */

/** A form that was refused: it is shown again, with what was written and the words of the refusal. */
export interface FormFault {
  /** The name of the form. */
  readonly form: string
  readonly message: string
  /** The text that was written. */
  readonly text: string
}

/**
 * A form with one text and the key of its request, which is made with the page: sent twice, it is done
 * once. It is folded until it is wanted, or was refused.
 */
export function TextForm({
  name,
  title,
  action,
  requestKey,
  label,
  button,
  fault,
  children,
}: {
  readonly name: string
  readonly title: string
  readonly action: string
  readonly requestKey: string
  readonly label: string
  readonly button: string
  readonly fault: FormFault | undefined
  /** What the form will do. */
  readonly children: ComponentChildren
}): JSX.Element {
  const own = fault?.form === name ? fault : undefined
  return (
    <details class="panel action" open={own !== undefined}>
      <summary>{title}</summary>
      <form method="post" action={action}>
        <p class="note">{children}</p>
        <input type="hidden" name="key" value={requestKey} />
        <label>
          <span>{label}</span>
          <textarea
            name="text"
            rows={3}
            maxLength={1_000}
            required
            aria-invalid={own === undefined ? undefined : 'true'}
            aria-describedby={own === undefined ? undefined : `${name}-fault`}
          >
            {own?.text ?? ''}
          </textarea>
        </label>
        {own === undefined ? null : (
          <p id={`${name}-fault`} class="fault" role="alert">
            {own.message}
          </p>
        )}
        <button type="submit">{button}</button>
      </form>
    </details>
  )
}
