import type { VNode } from "./vnode.js";

export type ComponentChildren = VNode | string | number | bigint | boolean | null | undefined | ComponentChildren[];
export type Component<P> = (props: P) => ComponentChildren;
export interface Ref<T> {
  current: T;
}
export interface Attributes {
  key?: string | number;
  ref?: Ref<any> | ((element: any) => void);
}
export interface Props {
  [name: string]: any;
}
/** Describes an element by its name and attributes, or a component by its function and props. */
export interface CreateElement {
  (type: string, props?: (Props & Attributes) | null, ...children: ComponentChildren[]): VNode;
  <P>(type: Component<P>, props?: (NoInfer<P> & Attributes) | null, ...children: ComponentChildren[]): VNode;
}
