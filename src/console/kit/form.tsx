import type { ComponentChildren, JSX } from 'preact'

/** Forms that change something. */

/** A form that was refused: it is shown again, with what was written and the words of the refusal. */
export interface FormFault {
  /** The name of the form. */
  readonly form: string
  readonly message: string
  /** The field at fault, where it is known. */
  readonly param: string | undefined
  /** Fields as they were written, by name. */
  readonly written: Readonly<Record<string, string>>
}

/** A field of a form, named as the member of the API. */
interface ShownField {
  readonly name: string
  readonly label: string
  /** The text of the field until it was written. */
  readonly value?: string | undefined
  /** A choice of these values, each with its words. */
  readonly options?: readonly (readonly [value: string, words: string])[]
  /** A text of more than one line. */
  readonly isLong?: true
  readonly isOptional?: true
}

interface FormOptions {
  readonly name: string
  readonly title: string
  /** The address of the page that has the form: the form is sent to its name below it. */
  readonly page: string
  readonly requestKey: string
  readonly button: string
  readonly fault: FormFault | undefined
  readonly fields?: readonly ShownField[]
  /** Fields that the page fills in: they name what the form is about, or the revision that was looked at. */
  readonly hidden?: Readonly<Record<string, string>>
  /** Whether it is unfolded from the start: the page is there for it. */
  readonly isOpen?: true
  /** Words that say what the form will do. */
  readonly children: ComponentChildren
}

function Input({
  field: { name, options, isLong, isOptional },
  value,
  faultId,
}: {
  readonly field: ShownField
  readonly value: string
  readonly faultId: string | undefined
}): JSX.Element {
  const known = {
    name,
    required: isOptional !== true,
    'aria-invalid': faultId === undefined ? undefined : ('true' as const),
    'aria-describedby': faultId,
  }
  if (options !== undefined)
    return (
      <select {...known}>
        {options.map(([option, words]) => (
          <option key={option} value={option} selected={value === option}>
            {words}
          </option>
        ))}
      </select>
    )
  if (isLong === true)
    return (
      <textarea {...known} rows={3} maxLength={1_000}>
        {value}
      </textarea>
    )
  return (
    <input
      {...known}
      type="text"
      value={value}
      maxLength={256}
      autocomplete="off"
      spellcheck={false}
    />
  )
}

function Fault({ id, message }: { readonly id: string; readonly message: string }): JSX.Element {
  return (
    <p id={id} class="fault" role="alert">
      {message}
    </p>
  )
}

/**
 * A form with the key of its request, which is made with the page: sent twice, it is done once. It is
 * folded until it is wanted, or was refused; the fault stands below the field that it is about.
 */
export function ActionForm({ fields = [], hidden = {}, ...options }: FormOptions): JSX.Element {
  const { name, title, page, requestKey, button, fault, children } = options
  // Like forms of one page are distinguished by their subject.
  const { subject } = hidden
  const isSubject = subject === undefined || fault?.written['subject'] === subject
  const own = fault?.form === name && isSubject ? fault : undefined
  const faultId = `${name}-fault`
  const [only] = fields
  const named = fields.find((field) => field.name === own?.param)
  const faulty = named ?? (fields.length === 1 ? only : undefined)
  return (
    <details class="panel action" open={options.isOpen === true || own !== undefined}>
      <summary>{title}</summary>
      <form method="post" action={`${page}/${name}`}>
        <div class="note">{children}</div>
        <input type="hidden" name="key" value={requestKey} />
        {Object.entries(hidden).map(([key, value]) => (
          <input key={key} type="hidden" name={key} value={value} />
        ))}
        {fields.map((field) => {
          const isFaulty = own !== undefined && field === faulty
          return (
            <div key={field.name} class="field">
              <label>
                <span>{field.label}</span>
                <Input
                  field={field}
                  value={own?.written[field.name] ?? field.value ?? ''}
                  faultId={isFaulty ? faultId : undefined}
                />
              </label>
              {isFaulty ? <Fault id={faultId} message={own.message} /> : null}
            </div>
          )
        })}
        {own !== undefined && faulty === undefined ? (
          <Fault id={faultId} message={own.message} />
        ) : null}
        <button type="submit">{button}</button>
      </form>
    </details>
  )
}

/** The fault of a form that the page does not offer any more. */
export function UnplacedFault({
  fault,
}: {
  readonly fault: FormFault | undefined
}): JSX.Element | null {
  return fault === undefined ? null : <Fault id="fault" message={fault.message} />
}
