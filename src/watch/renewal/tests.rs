use futures::FutureExt as _;

use super::*;

#[tokio::test]
async fn a_list_that_began_before_fills_no_order() {
    let (renewer, mut orders) = renewal();
    orders.begin();
    let renewed = renewer.renew();
    tokio::pin!(renewed);
    assert_eq!(renewed.as_mut().now_or_never(), None);
    orders.deliver();
    assert_eq!(renewed.as_mut().now_or_never(), None);
    orders.come().await;
    orders.begin();
    assert_eq!(orders.come().now_or_never(), None, "it is being filled");
    assert_eq!(renewed.as_mut().now_or_never(), None);
    orders.deliver();
    renewed.await;
}

#[tokio::test]
async fn one_list_fills_all_orders_from_before_it() {
    let (renewer, mut orders) = renewal();
    let other = renewer.clone();
    let both = async { tokio::join!(renewer.renew(), other.renew()) };
    tokio::pin!(both);
    assert_eq!(both.as_mut().now_or_never(), None);
    orders.begin();
    orders.deliver();
    both.await;
    assert_eq!(orders.come().now_or_never(), None);
}

#[tokio::test]
async fn nobody_asks_a_watch_of_its_own() {
    assert_eq!(Orders::none().come().now_or_never(), None);
}
