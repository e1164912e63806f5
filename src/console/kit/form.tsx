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

interface FormOptions {
  readonly name: string
  readonly title: string
  readonly action: string
  readonly requestKey: string
  readonly button: string
  readonly fault: FormFault | undefined
  /** Words that say what the form will do. */
  readonly children: ComponentChildren
}

/**
 * A form with the key of its request, which is made with the page: sent twice, it is done once. It is
 * folded until it is wanted, or was refused. `field` is shown above its button.
 */
function KeyedForm({
  name,
  title,
  action,
  requestKey,
  button,
  fault,
  children,
  field,
}: FormOptions & { readonly field?: JSX.Element }): JSX.Element {
  const own = fault?.form === name ? fault : undefined
  return (
    <details class="panel action" open={own !== undefined}>
      <summary>{title}</summary>
      <form method="post" action={action}>
        <p class="note">{children}</p>
        <input type="hidden" name="key" value={requestKey} />
        {field}
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

/** A form without fields. */
export function ButtonForm(options: FormOptions): JSX.Element {
  return <KeyedForm {...options} />
}

/** A form with one text. */
export function TextForm({
  label,
  ...options
}: FormOptions & { readonly label: string }): JSX.Element {
  const { name, fault } = options
  const own = fault?.form === name ? fault : undefined
  const field = (
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
  )
  return <KeyedForm {...options} field={field} />
}
