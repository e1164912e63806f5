import type { JSX } from 'preact'
import { savedViewsHref } from './href.ts'

/** The form below a page that saves it. */

/** The id of the form, which changes with the filter of its page. */
export const SAVE_VIEW = 'save-view'

/** Saves the page with its filter under a name. */
export function SaveView({ address }: { readonly address: string }): JSX.Element {
  return (
    <details class="save-view" id={SAVE_VIEW}>
      <summary>Save this view</summary>
      <form method="post" action={savedViewsHref()}>
        <input type="hidden" name="address" value={address} />
        <label>
          <span>Name, for all who see the same tenants</span>
          <input type="text" name="view" required maxLength={80} autocomplete="off" />
        </label>
        <button type="submit">Save view</button>
      </form>
    </details>
  )
}
